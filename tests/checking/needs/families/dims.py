"""Functions that are told a dim, and dims that move or are cut, on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

Tensor = torch.Tensor
ones = torch.ones


@family("along a dim")
def along() -> Iterator[Call]:
    x = ones(2, 3, 4)
    for function in (
        torch.sum, torch.mean, torch.prod, torch.amax, torch.argmax, torch.std,
        torch.var, torch.logsumexp, torch.softmax, F.log_softmax, torch.cumsum,
        torch.sort, torch.median, torch.any, torch.count_nonzero, torch.nanmean,
        torch.cummax, torch.unbind, torch.squeeze,
    ):  # fmt: skip
        yield call(function, x, 1)
    for function in (torch.sum, torch.mean, torch.amax, torch.std, torch.logsumexp):
        yield call(function, x, (0, 2))
    yield call(torch.aminmax, x, dim=1)
    yield call(F.normalize, x, 2.0, 1)
    yield call(torch.topk, x, 2, 1)
    yield call(torch.kthvalue, x, 2, 1)
    yield call(torch.diff, x, 1, 2)
    yield call(torch.trapezoid, x, dim=1)
    yield call(torch.quantile, x, 0.5, 1)
    yield call(torch.renorm, x, 2.0, 0, 1.0)


@family("dims that move")
def moved() -> Iterator[Call]:
    x = ones(2, 3, 4)
    yield call(torch.transpose, x, 0, 2)
    yield call(torch.permute, x, (2, 0, 1))
    yield call(Tensor.permute, x, 2, 0, 1)
    yield call(torch.movedim, x, (0, 1), (1, 2))
    yield call(torch.flip, x, (0, 2))
    yield call(torch.roll, x, (1, 2), (0, 2))
    yield call(torch.roll, x, 1, 1)
    yield call(torch.rot90, x, 1, (0, 2))
    yield call(torch.fliplr, x)
    yield call(torch.unsqueeze, x, 3)
    yield call(torch.flatten, x, 1, 2)


@family("parts")
def parts() -> Iterator[Call]:
    x = ones(4, 6)
    yield call(torch.split, x, [2, 4], 1)
    yield call(torch.split, x, 3, 1)
    yield call(torch.chunk, x, 3, 1)
    yield call(torch.tensor_split, x, 3, 1)
    yield call(torch.tensor_split, x, (1, 4), 1)
    yield call(torch.hsplit, x, 3)
    yield call(torch.vsplit, x, 2)
    yield call(torch.narrow, x, 1, 2, 3)
    yield call(torch.select, x, 1, 2)
    yield call(Tensor.unfold, x, 1, 2, 2)
    yield call(torch.unflatten, x, 1, (2, 3))


@family("reshaping")
def reshaped() -> Iterator[Call]:
    x = ones(4, 6)
    yield call(Tensor.view, x, 2, 12)
    yield call(Tensor.view, x, (8, -1))
    yield call(torch.reshape, x, (3, 8))
    yield call(Tensor.expand, ones(4, 1), 4, 6)
    yield call(Tensor.repeat, x, 2, 1, 3)
    yield call(torch.tile, x, (2, 1))
    yield call(Tensor.sum_to_size, x, 1, 6)
    yield call(Tensor.expand_as, ones(4, 1), x)
    yield call(Tensor.view_as, x, ones(3, 8))
    yield call(torch.broadcast_to, ones(4, 1), (4, 6))


@family("joining")
def joined() -> Iterator[Call]:
    yield call(torch.cat, [ones(2, 3), ones(4, 3)])
    yield call(torch.cat, [ones(2, 3), ones(2, 4)], 1)
    yield call(torch.stack, [ones(2, 3), ones(2, 3)], 1)
    for function in (torch.hstack, torch.vstack, torch.dstack, torch.column_stack):
        yield call(function, [ones(2, 3), ones(2, 3)])
    yield call(torch.block_diag, ones(2, 3), ones(3))
    yield call(torch.meshgrid, ones(2), ones(3), indexing="ij")
