"""New tensors hold what their maps say of each index."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import gcd

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape
from shapewright.views.drawing.index_map_text import format_formula, format_loop


def made(draw: random.Random) -> Iterator[Case]:
    while True:
        start, step = draw.randint(-5, 5), draw.choice([-3, -1, 1, 2, 0.5, -0.25])
        end = start + step * draw.randint(0, 9)
        yield "torch.arange", (draw.randint(0, 9),), {}
        yield "torch.arange", (start, end, step), {}
        yield "torch.arange", (start, end, step), {"dtype": torch.float64}
        yield "torch.linspace", (start, end, draw.randint(0, 9)), {}
        ends = draw.randint(-99, 99), draw.randint(-99, 99)
        steps = draw.choice([1, 2, 5, 9, 50])
        if steps < 50 or gcd(ends[1] - ends[0], 49) == 1:
            yield "torch.linspace", (*ends, steps), {"dtype": torch.int64}
        yield "torch.eye", (draw.randint(0, 5),), {}
        yield "torch.eye", (draw.randint(1, 5), draw.randint(1, 5)), {}
        sizes = shape(draw, draw.randint(0, 3))
        yield "torch.full", (sizes, draw.choice([-2, 1.5, True])), {}
        yield "torch.full", (sizes, 2.7), {"dtype": torch.int64}
        name = draw.choice(["zeros", "ones"])
        yield f"torch.{name}", tuple(sizes) or ((),), {}
        yield f"torch.{name}_like", (floats(draw, *sizes),), {"dtype": torch.int32}
        yield f"torch.Tensor.new_{name}", (floats(draw, *sizes), (2, 3)), {}


def grids(draw: random.Random) -> Iterator[Case]:
    while True:
        count = draw.randint(1, 4)
        several = [floats(draw, *shape(draw, draw.randint(0, 1))) for _ in range(count)]
        indexing = {"indexing": draw.choice(["ij", "xy"])}
        yield "torch.meshgrid", tuple(several), indexing
        yield "torch.meshgrid", (several,), indexing


def triangles(draw: random.Random) -> Iterator[Case]:
    while True:
        name = draw.choice(["torch.tril_indices", "torch.triu_indices"])
        rows, columns = shape(draw, 2)
        yield name, (rows, columns, draw.randint(-2, 2)), {}


@pytest.mark.parametrize("cases", [made, grids, triangles])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_what_stands_there_is_written_in_the_letters() -> None:
    (found,) = drawn("torch.arange", 3, 20, 2).maps
    assert str(found.value) == "2*i + 3"
    (found,) = drawn("torch.linspace", 0, 1, 5).maps
    assert str(found.value) == "i/4"
    (found,) = drawn("torch.linspace", 0, 10, 4, dtype=torch.int64).maps
    assert str(found.value) == "int(10*i/3)"
    (found,) = drawn("torch.arange", 1.5, 0, -0.25).maps
    assert str(found.value) == "1.5 - 0.25*i"
    (found,) = drawn("torch.eye", 3).maps
    assert [str(one) for one in found.conditions] == ["i == j"]
    assert (found.value, found.start) == (1, 0)


def test_the_formula_and_the_loop_say_what_stands_there() -> None:
    (found,) = drawn("torch.arange", 3, 20, 2).maps
    assert format_formula(found) == ["out[i] = 2*i + 3"]
    (found,) = drawn("torch.full", (3,), 7).maps
    assert format_loop(found) == ["for i in range(3):", "    out[i] = 7"]
    (found,) = drawn("torch.eye", 3).maps
    assert format_formula(found) == ["out[i, j] = 1 if i == j, else 0"]


def test_the_two_ways_of_a_grid_swap_the_first_letters() -> None:
    x, y = torch.zeros(3), torch.zeros(4)
    rows = drawn("torch.meshgrid", x, y, indexing="ij").maps
    assert [str(one.reads[0]) for one in rows] == ["tensors.0[i]", "tensors.1[j]"]
    across = drawn("torch.meshgrid", x, y, indexing="xy").maps
    assert [str(one.reads[0]) for one in across] == ["tensors.0[j]", "tensors.1[i]"]
    assert across[0].shape == (4, 3)
