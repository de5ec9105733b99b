"""Windows of a tensor read the elements that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape


def windows(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(1, 4)
        x = floats(draw, *shape(draw, rank, 6)).permute(draw.sample(range(rank), rank))
        dim = draw.randrange(-rank, rank)
        size = x.shape[dim]
        yield "torch.select", (x, dim, draw.randrange(-size, size)), {}
        start = draw.randint(-size, size)
        length = draw.randint(0, size - start % size if start != size else 0)
        yield "torch.narrow", (x, dim, start, length), {}
        window = draw.randint(0, size)
        yield "torch.Tensor.unfold", (x, dim, window, draw.randint(1, 4)), {}
        if rank > 1:
            first, second = draw.sample(range(rank), 2)
            offset = draw.randint(1 - x.shape[first], x.shape[second] - 1)
            yield "torch.diagonal", (x, offset, first, second - rank), {}


def strided(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(0, 3)
        x = floats(draw, *shape(draw, rank)).permute(draw.sample(range(rank), rank))
        sizes = shape(draw, draw.randint(0, 3), 4)
        strides = [draw.randint(0, 5) for _ in sizes]
        last = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        if last < x.numel():
            offset = draw.choice([None, draw.randrange(x.numel() - last)])
            yield "torch.as_strided", (x, sizes, strides, offset), {}


@pytest.mark.parametrize("cases", [windows, strided])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_windows_and_strides_are_written_as_sums() -> None:
    (found,) = drawn("torch.Tensor.unfold", torch.zeros(3, 8), 1, 3, 2).maps
    assert str(found.reads[0]) == "input[i, 2*j + k]"
    (found,) = drawn("torch.as_strided", torch.zeros(20), (3, 4), (2, 1), 5).maps
    assert str(found.reads[0]) == "input[2*i + j + 5]"
    (found,) = drawn("torch.diagonal", torch.zeros(2, 3, 4), 1, 1, 2).maps
    assert str(found.reads[0]) == "input[i, j, j + 1]"


def test_the_offset_of_as_strided_counts_from_the_start_of_the_storage() -> None:
    (found,) = drawn("torch.as_strided", torch.zeros(10)[4:], (3,), (1,), 5).maps
    assert str(found.reads[0]) == "input[i + 1]"


def test_strides_that_leave_the_input_are_not_drawn() -> None:
    made = drawn("torch.as_strided", torch.zeros(10)[4:], (3,), (1,), 0)
    assert made.reason == "it reaches beyond the input's elements, into its storage"
