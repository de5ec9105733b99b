"""Gather, scatter and their kin read and write the elements that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole


def gathers(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4))
        dim = draw.randrange(-len(sizes), len(sizes))
        index = [draw.randint(1, size) for size in sizes]
        index[dim] = draw.randint(1, 6)
        yield (
            "torch.gather",
            (
                floats(draw, *sizes),
                dim,
                whole(draw, sizes[dim], *index),
            ),
            {},
        )


def takes(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4))
        dim = draw.randrange(len(sizes))
        index = [draw.choice([1, size]) for size in sizes]
        given = [size if draw.random() < 0.7 else 1 for size in sizes]
        given[dim], index[dim] = sizes[dim], draw.randint(1, 6)
        yield (
            "torch.take_along_dim",
            (
                floats(draw, *given),
                whole(draw, sizes[dim], *index),
                dim,
            ),
            {},
        )


def selects(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4))
        dim = draw.randrange(-len(sizes), len(sizes))
        index = whole(draw, sizes[dim], draw.randint(1, 6))
        yield "torch.Tensor.index_select", (floats(draw, *sizes), dim, index), {}


def scatters(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 3))
        dim = draw.randrange(-len(sizes), len(sizes))
        index = [draw.randint(1, size) for size in sizes]
        source = [size + draw.randint(0, 2) for size in index]
        name = draw.choice(["torch.scatter", "torch.scatter_add"])
        yield (
            name,
            (
                floats(draw, *sizes),
                dim,
                whole(draw, sizes[dim], *index),
                floats(draw, *source),
            ),
            {},
        )


@pytest.mark.parametrize("cases", [gathers, takes, selects, scatters])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_a_gather_is_written_as_one_index() -> None:
    x = floats(random.Random(0), 4, 6)
    made = drawn("torch.gather", x, 0, whole(random.Random(0), 4, 1, 6))
    (map_,) = made.maps
    assert str(map_.reads[0]) == "input[index[i, j], j]"


@pytest.mark.parametrize(
    ("given", "index"),
    [((), ()), ((), (1,)), ((1,), ())],
)
def test_a_gather_of_one_element(
    given: tuple[int, ...], index: tuple[int, ...]
) -> None:
    x, places = torch.full(given, 7.0), torch.zeros(index, dtype=torch.int64)
    assert drawn("torch.gather", x, 0, places).checked == 1


def test_take_along_dim_counts_negative_indices_from_the_end() -> None:
    x = torch.arange(8.0).reshape(4, 2)
    made = drawn("torch.take_along_dim", x, torch.tensor([[-1, -4]]), 0)
    assert made.outputs[0].values == [[6.0, 1.0]]
    assert made.checked == 2
