"""`x[...]` reads the elements that its map says, however it is indexed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape

GETITEM = "torch.Tensor.__getitem__"


def cut(draw: random.Random, size: int) -> slice:
    ends = [draw.choice([None, draw.randint(-size - 1, size + 1)]) for _ in range(2)]
    return slice(*ends, draw.choice([None, 1, 2, 3]))


def numbers(draw: random.Random, size: int, sizes: list[int]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(draw.randint(0, 1 << 30))
    least = draw.choice([0, -size])
    return torch.randint(least, size, sizes, generator=generator)


def item(draw: random.Random, size: int, group: list[int]) -> Any:
    """What can index one dim: mostly slices and numbers."""
    kind = draw.choice(["slice", "slice", "slice", "int", "tensor", "list", "mask"])
    own = [draw.choice([n, n, 1]) for n in group[draw.randint(0, len(group)) :]]
    if kind == "slice":
        return cut(draw, size)
    if kind == "tensor":
        return numbers(draw, size, own)
    if kind == "list" and own:
        return numbers(draw, size, own).tolist()
    if kind == "mask" and group[-1] <= size:
        places = draw.sample(range(size), draw.choice([1, group[-1]]))
        return torch.tensor([place in places for place in range(size)])
    return draw.randrange(-size, size)


def indexings(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(1, 4)
        sizes = shape(draw, rank)
        x = floats(draw, *sizes)
        group = shape(draw, draw.randint(1, 2), 3)
        items = [item(draw, size, group) for size in sizes]
        if draw.random() < 0.4:
            start = draw.randint(0, rank)
            items[start : draw.randint(start, rank)] = [...]
        for _ in range(draw.choice([0, 0, 1, 2])):
            items.insert(draw.randint(0, len(items)), None)
        if len(items) == 1 and not isinstance(items[0], list):
            yield GETITEM, (x, items[0]), {}
        yield GETITEM, (x, tuple(items)), {}


def masks(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4), 4, 0 if draw.random() < 0.1 else 1)
        x = floats(draw, *sizes)
        span = draw.randint(1, len(sizes))
        mask = floats(draw, *sizes[:span]) > draw.randint(-9, 9)
        yield GETITEM, (x, mask), {}
        yield GETITEM, (x, (mask, ..., None)), {}
        if span > 1:
            last = draw.randrange(-sizes[0], sizes[0]) if sizes[0] else slice(None)
            yield GETITEM, (x, (last, mask.any(0))), {}


@pytest.mark.parametrize("cases", [indexings, masks])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


@pytest.mark.parametrize(
    ("index", "read"),
    [
        ((slice(None), None, slice(0, 3, 2), 1), "input[i, 2*k, 1]"),
        ((..., -1), "input[i, j, 3]"),
        (torch.tensor([1, 0]), "input[index[i], j, k]"),
        ((..., torch.tensor([1, -1])), "input[i, j, index.1[k]%4]"),
        ((slice(None), [2, 0, -1]), "input[i, [2, 0, 2][j], k]"),
        (
            (torch.tensor([0, 1]), slice(None), torch.tensor([[1], [2]])),
            "input[index.0[j], k, index.2[i, 0]]",
        ),
        (([0, 1], 2, torch.tensor([True, False, True, False])),
         "input[[0, 1][i], 2, [0, 2][i]]"),
    ],
)  # fmt: skip
def test_indices_are_written_as_a_person_would(index: Any, read: str) -> None:
    (found,) = drawn(GETITEM, torch.zeros(2, 3, 4), index).maps
    assert str(found.reads[0]) == read
