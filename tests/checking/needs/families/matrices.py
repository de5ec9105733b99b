"""Functions of matrices and vectors, on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import linalg

from checking.needs.breaking import Call, call
from checking.needs.families import family

Tensor = torch.Tensor
ones = torch.ones


@family("triangles and diagonals")
def triangles() -> Iterator[Call]:
    a = ones(3, 4)
    for function in (torch.trace, torch.tril, Tensor.triu, torch.t, torch.diag):
        yield call(function, a)
    yield call(torch.diagonal, ones(2, 3, 4), 0, 1, 2)
    yield call(linalg.diagonal, ones(2, 3, 4), dim1=0, dim2=-1)
    yield call(torch.diag_embed, ones(2, 3))


@family("cross and inner products")
def crossed() -> Iterator[Call]:
    yield call(linalg.cross, ones(4, 3), ones(4, 3))
    yield call(linalg.cross, ones(3, 5), ones(3, 1), dim=0)
    yield call(torch.cross, ones(4, 3), ones(4, 3))
    yield call(torch.cross, ones(4, 3), ones(4, 3), 1)
    yield call(torch.inner, ones(2, 4), ones(3, 4))
    yield call(linalg.vecdot, ones(2, 4), ones(2, 4))
    yield call(torch.addr, ones(3, 4), ones(3), ones(4))
    yield call(torch.cartesian_prod, ones(3), ones(4))
    yield call(torch.combinations, ones(3))


@family("norms of vectors and matrices")
def norms() -> Iterator[Call]:
    a = ones(2, 3, 4)
    yield call(torch.norm, a, 2.0, 1)
    yield call(torch.norm, a)
    yield call(linalg.norm, a, 2.0, 1)
    yield call(linalg.vector_norm, a, dim=(0, 2))
    yield call(linalg.matrix_norm, a)
    yield call(linalg.matrix_norm, a, "fro", (0, 2))
    yield call(torch.cov, ones(3, 4))
    yield call(torch.corrcoef, ones(3, 4))
