"""Products that torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from checking.needs.breaking import Call, call
from checking.needs.families import family

ones = torch.ones


@family("einsum")
def einsum() -> Iterator[Call]:
    yield call(torch.einsum, "ij,jk->ik", ones(2, 3), ones(3, 4))
    yield call(torch.einsum, "bhid,bhjd->bhij", ones(2, 3, 4, 5), ones(2, 3, 6, 5))
    yield call(torch.einsum, "ij,j->i", [ones(2, 3), ones(3)])


@family("tensordot")
def tensordot() -> Iterator[Call]:
    yield call(torch.tensordot, ones(2, 3, 4), ones(3, 4, 5))
    yield call(torch.tensordot, ones(2, 3, 4), ones(4, 5, 3), dims=([1, 2], [2, 0]))
    yield call(torch.tensordot, ones(2, 3), ones(3, 4), 1)
