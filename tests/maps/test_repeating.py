"""Repeated, rolled and turned tensors read the elements that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole


def repeats(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(0, 3)
        x = floats(draw, *shape(draw, rank, 4))
        times = [draw.randint(0, 3) or 1 for _ in range(rank + draw.randint(0, 2))]
        if draw.random() < 0.1 and times:
            times[0] = 0
        yield "torch.Tensor.repeat", (x, times), {}
        yield "torch.tile", (x, tuple(times[draw.randint(0, len(times)) :])), {}
        yield "torch.repeat_interleave", (x, draw.randint(0, 4)), {}
        if rank:
            dim = draw.randrange(-rank, rank)
            count = draw.choice([draw.randint(0, 3), whole(draw, 4, x.shape[dim])])
            yield "torch.Tensor.repeat_interleave", (x, count), {"dim": dim}
            yield "torch.repeat_interleave", (x, whole(draw, 4, x.numel())), {}


def turns(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(1, 4)
        x = floats(draw, *shape(draw, rank))
        dims = [draw.randrange(-rank, rank) for _ in range(draw.randint(1, 3))]
        shifts = [draw.randint(-9, 9) for _ in dims]
        yield "torch.roll", (x, shifts, dims), {}
        yield "torch.Tensor.roll", (x, shifts[0]), {}
        some = tuple(draw.sample(range(-rank, 0), draw.randint(1, rank)))
        yield "torch.flip", (x, some), {}
        yield "torch.Tensor.flip", (x, *some), {}
        yield "torch.flipud", (x,), {}
        if rank > 1:
            yield "torch.fliplr", (x,), {}
            pair = draw.sample(range(-rank, 0), 2)
            yield "torch.rot90", (x, draw.randint(-5, 5), pair), {}


@pytest.mark.parametrize("cases", [repeats, turns])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


@pytest.mark.parametrize(
    ("name", "arguments", "read"),
    [
        ("torch.Tensor.repeat", (2, 1, 3), "input[j, k%4]"),
        ("torch.repeat_interleave", (2, 1), "input[i, j//2]"),
        (
            "torch.repeat_interleave",
            (torch.tensor([2, 0, 1]), 0),
            "input[[0, 0, 2][i], j]",
        ),
        ("torch.roll", (1, 1), "input[i, (j - 1)%4]"),
        ("torch.flip", ((1,),), "input[i, 3 - j]"),
        ("torch.rot90", (), "input[j, 3 - i]"),
    ],
)
def test_reads_are_written_as_a_person_would(
    name: str, arguments: tuple[Any, ...], read: str
) -> None:
    (found,) = drawn(name, torch.zeros(3, 4), *arguments).maps
    assert str(found.reads[0]) == read
