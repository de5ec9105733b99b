"""Indexing, gathering, scattering and tables, on what torch takes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from checking.needs.breaking import Call, call
from checking.needs.families import family

Tensor = torch.Tensor
ones = torch.ones
INDEX = torch.tensor([0, 2])


@family("brackets")
def brackets() -> Iterator[Call]:
    x = ones(3, 4, 5)
    for index in (0, (1, 2), (0, slice(None), 3), (..., 1), (None, 2)):
        yield call(Tensor.__getitem__, x, index)
    yield call(Tensor.__getitem__, x, INDEX)
    yield call(Tensor.__getitem__, x, (INDEX, INDEX))
    yield call(Tensor.__getitem__, x, x[:, :, 0] > 2)


@family("writing into brackets")
def written() -> Iterator[Call]:
    x = ones(3, 4, 5)
    write = Tensor.__setitem__
    yield call(write, x, 0, ones(4, 5))
    yield call(write, x, (slice(None), 1), ones(3, 5))
    yield call(write, x, (slice(None), slice(1, 3)), ones(2, 5))
    yield call(write, x, (..., 1), ones(3, 4))
    yield call(write, x, INDEX, ones(2, 4, 5))
    yield call(write, x, (slice(None), INDEX, INDEX), ones(3, 2))
    yield call(write, x, (INDEX, slice(None), INDEX), ones(2, 4))
    yield call(write, x, (INDEX, 1, slice(None)), ones(2, 5))
    yield call(write, x, (None, INDEX), ones(2, 4, 5))
    yield call(write, x, x[..., 0] > 0, ones(12, 5))
    yield call(torch.index_put, x, (INDEX, INDEX), ones(2, 5))


@family("parts that are written")
def parts() -> Iterator[Call]:
    x = ones(3, 4, 5)
    yield call(torch.select_scatter, x, ones(3, 5), 1, 2)
    yield call(torch.slice_scatter, x, ones(3, 2, 5), 1, 0, 2)
    yield call(torch.diagonal_scatter, x, ones(5, 3), 0, 0, 1)


@family("gather and scatter")
def gathers() -> Iterator[Call]:
    x, index = ones(3, 4), torch.zeros(2, 4, dtype=torch.int64)
    yield call(torch.gather, x, 0, index)
    yield call(torch.gather, x, 1, index)
    yield call(torch.take_along_dim, x, torch.zeros(3, 2).long(), 1)
    yield call(torch.take_along_dim, x, index)
    for function in (torch.scatter, torch.scatter_add, Tensor.scatter_add_):
        yield call(function, x, 0, index, ones(2, 4))
    yield call(Tensor.scatter_reduce_, x, 0, index, ones(2, 4), "sum")


@family("along an index")
def along() -> Iterator[Call]:
    x, source = ones(3, 4), ones(2, 4)
    yield call(torch.index_select, x, 0, INDEX)
    for function in (torch.index_add, torch.index_copy, Tensor.index_add_):
        yield call(function, x, 0, INDEX, source)
    yield call(torch.index_fill, x, 1, INDEX, 0.5)
    yield call(torch.index_reduce, x, 0, INDEX, source, "amax")
    yield call(torch.take, x, INDEX)
    yield call(Tensor.put_, x, INDEX, ones(2))
    yield call(torch.masked_scatter, x, x > 0, ones(12))
    yield call(torch.masked_select, x, x > 0)
    yield call(torch.repeat_interleave, x, torch.tensor([1, 2, 1]), 0)
    yield call(torch.repeat_interleave, x, 2, 1)


@family("tables")
def tables() -> Iterator[Call]:
    ids = torch.tensor([[0, 2], [1, 3]])
    yield call(F.embedding, ids, ones(4, 5))
    yield call(F.one_hot, ids, 4)
    yield call(F.embedding_bag, ids, ones(4, 5))
    yield call(F.embedding_bag, ids.flatten(), ones(4, 5), torch.tensor([0, 2]))
    yield call(torch.bucketize, ones(2, 3), ones(4))
    yield call(torch.searchsorted, ones(2, 4), ones(2, 3))
    yield call(torch.searchsorted, ones(4), ones(2, 3))
    yield call(torch.multinomial, ones(2, 4), 2)
    yield call(torch.bincount, torch.tensor([0, 1, 1]))
