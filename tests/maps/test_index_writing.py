"""Writes to places that are values: what meets at a place is torch's."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole
from shapewright import explain


def slices(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 3))
        dim, count = draw.randrange(len(sizes)), draw.randint(1, 6)
        index = whole(draw, sizes[dim], count)
        source = floats(draw, *sizes[:dim], count, *sizes[dim + 1 :])
        signed = draw.choice([dim, dim - len(sizes)])
        x, alpha = floats(draw, *sizes), draw.choice([1, 2])
        yield "torch.index_add", (x, signed, index, source), {"alpha": alpha}
        yield "torch.Tensor.index_add_", (x.clone(), signed, index, source), {}
        number = draw.choice([7.0, torch.tensor(3.0)])
        yield "torch.index_fill", (x, signed, index, number), {}
        once = torch.randperm(sizes[dim])[: draw.randint(1, sizes[dim])]
        part = floats(draw, *sizes[:dim], len(once), *sizes[dim + 1 :])
        yield "torch.index_copy", (x, signed, once, part), {}


def places(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 3), 4)
        x, taken = floats(draw, *sizes), draw.randint(1, len(sizes))
        group = shape(draw, draw.randint(1, 2), 3)
        indices = tuple(
            whole(draw, size, *(draw.choice([1, n]) for n in group))
            - draw.choice([0, size])
            for size in sizes[:taken]
        )
        made = x[indices].shape
        values = floats(draw, *(draw.choice([1, size]) for size in made))
        # Where one place gets several, only a sum is promised.
        name = draw.choice(["torch.index_put", "torch.Tensor.index_put_"])
        yield name, (x.clone(), indices, values, True), {}
        mask = whole(draw, 2, *sizes[:taken]).bool()
        held = floats(draw, *x[mask].shape)
        yield "torch.index_put", (x, (mask,), held), {"accumulate": draw.random() < 0.5}


def reductions(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 3), 4)
        dim = draw.randrange(len(sizes))
        index = whole(draw, sizes[dim], *sizes)
        x, src = floats(draw, *sizes), floats(draw, *sizes)
        reduce = draw.choice(["sum", "prod", "mean", "amax", "amin"])
        more = {} if reduce == "sum" else {"include_self": draw.random() < 0.5}
        yield "torch.scatter_reduce", (x, dim, index, src, reduce), more


def masks(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 3), 4)
        x = floats(draw, *(draw.choice([1, size]) for size in sizes))
        mask = whole(draw, 2, *(draw.choice([1, size]) for size in sizes)).bool()
        yield "torch.masked_select", (x, mask), {}
        full, source = floats(draw, *sizes), floats(draw, *sizes)
        yield "torch.masked_scatter", (full, mask, source), {}
        yield "torch.nonzero", (whole(draw, 3, *sizes),), {}


@pytest.mark.parametrize("cases", [slices, places, reductions, masks])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_a_place_sums_what_is_sent_to_it() -> None:
    index = torch.tensor([0, 2, 0])
    (map_,) = drawn("torch.index_add", torch.ones(3), 0, index, torch.ones(3)).maps
    assert str(map_.start) == "input[i]"
    assert [str(one) for one in map_.conditions] == ["index[u] == i"]


def test_collisions_are_counted() -> None:
    x, index = torch.zeros(3), torch.tensor([0, 2, 0])
    made = explain(torch.index_add, x, 0, index, torch.ones(3))
    said = "of 3 places of `out`, 1 gets more than one element and 1 gets none"
    assert said in str(made)
    put = explain(torch.index_put, x, (index,), torch.ones(3))
    assert "torch does not say which of them stays" in str(put)


def test_which_element_a_mask_takes_is_known() -> None:
    mask = torch.tensor([[True, False], [True, True]])
    (map_,) = drawn("torch.masked_select", torch.ones(2, 2), mask).maps
    assert str(map_.reads[0]) == "input[[0, 1, 1][i], [0, 0, 1][i]]"
