"""Joined and cut tensors read the elements that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape


def joins(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(1, 4)
        sizes = shape(draw, rank)
        dim = draw.randrange(-rank, rank)
        several = []
        for _ in range(draw.randint(1, 4)):
            sizes[dim] = draw.randint(0, 4)
            several.append(floats(draw, *sizes))
        if draw.random() < 0.3:
            several.insert(draw.randint(0, len(several)), torch.zeros(0))
        yield draw.choice(["torch.cat", "torch.concat"]), (several, dim), {}
        sizes = shape(draw, draw.randint(0, 4))
        alike = [floats(draw, *sizes) for _ in range(draw.randint(1, 4))]
        yield "torch.stack", (alike,), {"dim": draw.randrange(-len(sizes) - 1, 1)}
        name = draw.choice(["hstack", "vstack", "dstack", "column_stack"])
        yield f"torch.{name}", (alike,), {}


def cuts(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4), 7)
        x = floats(draw, *sizes)
        dim = draw.randrange(-len(sizes), len(sizes))
        size = sizes[dim]
        yield "torch.split", (x, draw.randint(1, size + 1), dim), {}
        first = draw.randint(0, size)
        yield "torch.Tensor.split", (x, [first, size - first], dim), {}
        yield "torch.chunk", (x, draw.randint(1, size + 1)), {"dim": dim}
        places = [draw.randint(-size - 1, size + 1) for _ in range(3)]
        where = draw.choice([draw.randint(1, 5), places, torch.tensor(places)])
        yield "torch.tensor_split", (x, where, dim), {}
        yield "torch.unbind", (x, dim), {}
        yield "torch.hsplit", (x, sorted(place % 8 for place in places)), {}


@pytest.mark.parametrize("cases", [joins, cuts])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_a_joined_tensor_says_which_part_is_read_where() -> None:
    parts = [torch.zeros(2, 3), torch.zeros(4, 3)]
    (found,) = drawn("torch.cat", parts).maps
    first, second = found.reads
    assert (str(first), str(first.when[0])) == ("tensors.0[i, j]", "0 <= i < 2")
    assert (str(second), str(second.when[0])) == ("tensors.1[i - 2, j]", "2 <= i < 6")
    said = "One after another along dim 0, which then has 2 + 4 elements."
    assert found.sentence == said


def test_stacked_tensors_are_told_apart_by_the_new_letter() -> None:
    (found,) = drawn("torch.stack", [torch.zeros(2), torch.zeros(2)], dim=1).maps
    assert [str(one) for one in found.reads] == ["tensors.0[i]", "tensors.1[i]"]
    assert str(found.reads[1].when[0]) == "j == 1"


def test_each_piece_has_its_own_map() -> None:
    found = drawn("torch.split", torch.zeros(2, 7), 3, dim=1).maps
    assert [one.shape for one in found] == [(2, 3), (2, 3), (2, 1)]
    assert str(found[1].reads[0]) == "input[i, j + 3]"
