"""Inverses, decompositions and solutions that torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import linalg

from checking.needs.breaking import Call, call
from checking.needs.families import family
from checking.needs.metas import filled

Tensor = torch.Tensor


def matrix(*shape: int) -> Tensor:
    """Ones, or the identity where it is square."""
    return filled(shape, torch.float32)


@family("square matrices")
def square() -> Iterator[Call]:
    a, many = matrix(4, 4), matrix(2, 3, 3)
    for function in (
        linalg.inv, linalg.inv_ex, torch.inverse, Tensor.inverse, linalg.det, torch.det,
        linalg.slogdet, torch.logdet, linalg.cholesky, linalg.cholesky_ex,
        torch.cholesky_inverse, linalg.eigh, linalg.eigvalsh, linalg.eig,
        linalg.eigvals, torch.matrix_exp, linalg.ldl_factor,
    ):  # fmt: skip
        yield call(function, a)
        yield call(function, many)
    yield call(linalg.matrix_power, many, 3)
    yield call(torch.matrix_power, a, 2)


@family("decompositions")
def decompositions() -> Iterator[Call]:
    a, many = matrix(3, 5), matrix(2, 4, 3)
    for function in (
        linalg.qr, torch.qr, linalg.svd, torch.svd, Tensor.svd, linalg.svdvals,
        linalg.pinv, torch.pinverse, linalg.matrix_rank, linalg.lu, linalg.lu_factor_ex,
        linalg.cond,
    ):  # fmt: skip
        yield call(function, a)
        yield call(function, many)


@family("solutions")
def solutions() -> Iterator[Call]:
    a, many = matrix(4, 4), matrix(2, 3, 3)
    for function in (linalg.solve, linalg.solve_ex):
        yield call(function, a, matrix(4, 2))
        yield call(function, a, matrix(4))
        yield call(function, many, matrix(2, 3))
        yield call(function, many, matrix(3, 5))
        yield call(function, a, matrix(2, 4), left=False)
    yield call(linalg.solve_triangular, a, matrix(4, 2), upper=True)
    yield call(linalg.solve_triangular, many, matrix(2, 5, 3), upper=False, left=False)
    for swapped in (torch.cholesky_solve, torch.triangular_solve):
        yield call(swapped, matrix(4, 2), a)
        yield call(swapped, matrix(2, 3, 1), many)
    yield call(linalg.lstsq, matrix(5, 3), matrix(5, 2))
    yield call(linalg.lstsq, matrix(5, 3), matrix(5))
    yield call(linalg.lstsq, matrix(2, 5, 3), matrix(2, 5, 4))
    yield call(linalg.multi_dot, [matrix(3, 4), matrix(4, 2), matrix(2, 5)])
    yield call(linalg.multi_dot, [matrix(4), matrix(4, 2), matrix(2)])
