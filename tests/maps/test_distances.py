"""Distances of rows, and Kronecker products."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape


def distances(draw: random.Random) -> Iterator[Case]:
    while True:
        size, front = draw.randint(1, 4), shape(draw, draw.randint(0, 2), 3)
        one = floats(draw, *front, draw.randint(1, 5), size)
        two = floats(draw, *front[draw.randint(0, 1) :], draw.randint(1, 5), size)
        p = draw.choice([2.0, 1.0, 3.0, torch.inf])
        yield "torch.cdist", (one, two, p), {}
        yield "torch.pairwise_distance", (one, one.flip(-2), p), {}


def blocks(draw: random.Random) -> Iterator[Case]:
    while True:
        one, two = (floats(draw, *shape(draw, draw.randint(0, 3), 3)) for _ in range(2))
        yield "torch.kron", (one, two), {}
        yield "torch.trace", (floats(draw, *shape(draw, 2)),), {}


@pytest.mark.parametrize("cases", [distances, blocks])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_a_kronecker_product_is_made_of_blocks() -> None:
    (map_,) = drawn("torch.kron", torch.ones(2, 2), torch.ones(3, 4)).maps
    assert [str(read) for read in map_.reads] == [
        "input[i//3, j//4]",
        "other[i%3, j%4]",
    ]


def test_distances_that_torch_rounds_are_not_drawn() -> None:
    x = torch.ones(30, 2)
    assert "matrix product" in drawn("torch.cdist", x, x).reason
