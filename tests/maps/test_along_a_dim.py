"""Reductions and functions along a dim read the elements along it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole

MANY = "sum mean amax amin all any var std logsumexp nansum count_nonzero norm".split()
ONE = "prod max min median argmax argmin mode cummax cummin".split()


def dims_of(draw: random.Random, rank: int) -> Any:
    """One dim, several, or all."""
    if not rank or draw.random() < 0.2:
        return None
    if draw.random() < 0.5:
        return draw.randrange(-rank, rank)
    chosen = draw.sample(range(rank), draw.randint(1, rank))
    return tuple(dim - rank if draw.random() < 0.3 else dim for dim in chosen)


def reductions(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(0, 4))
        x = floats(draw, *sizes)
        name, dim = draw.choice(MANY), dims_of(draw, len(sizes))
        more: dict[str, Any] = {"keepdim": draw.random() < 0.5}
        if name in ("var", "std") and draw.random() < 0.5:
            more["correction"] = draw.choice([0, 2])
        if name in ("var", "std"):
            # Torch warns where fewer elements are than it takes off.
            x = floats(draw, *(size + 2 for size in sizes))
            if not sizes:
                continue
        if name == "norm":
            more["p"] = draw.choice([1, 2, 3.0, float("inf")])
        if name == "sum" and draw.random() < 0.3:
            x = x.long()
        if name == "count_nonzero":
            more = {}
        if dim is None and name in ("amax", "amin", "logsumexp", "norm", "any", "all"):
            dim, more["keepdim"] = tuple(range(len(sizes))), False
            if name in ("all", "any"):
                more, dim = {}, None
        args = () if dim is None else (dim,)
        if dim is None and name not in ("var", "std"):
            more = {}
        if name == "norm":
            args, more["dim"] = (more.pop("p"),), dim
        form = draw.choice(["torch.", "torch.Tensor."])
        yield form + name, (x, *args), more


def places(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(1, 4))
        dim = draw.randrange(-len(sizes), len(sizes))
        name, keepdim = draw.choice(ONE), draw.random() < 0.5
        x = floats(draw, *sizes)
        if name.startswith("cum"):
            yield f"torch.{name}", (x, dim), {}
        else:
            yield f"torch.{name}", (x, dim), {"keepdim": keepdim}
        yield f"torch.{draw.choice(['max', 'argmin', 'median', 'prod'])}", (x,), {}
        k = draw.randint(1, sizes[dim])
        yield "torch.kthvalue", (x, k, dim, keepdim), {}
        yield "torch.topk", (x, k, dim, keepdim, draw.random() < 0.5), {}


def lanes(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(0, 4))
        x = floats(draw, *sizes)
        dim = draw.randrange(-max(len(sizes), 1), max(len(sizes), 1))
        way = draw.random() < 0.5
        yield from [
            ("torch.softmax", (x, dim), {}),
            ("torch.nn.functional.log_softmax", (x,), {"dim": dim}),
            ("torch.cumsum", (x, dim), {}),
            ("torch.Tensor.cumprod", (x.long(), dim), {}),
            ("torch.logcumsumexp", (x, dim), {}),
            ("torch.sort", (x, dim, way), {}),
            ("torch.argsort", (x,), {"dim": dim, "descending": way}),
            ("torch.aminmax", (x,), {"dim": dim, "keepdim": way}),
            ("torch.var_mean", (x, dim), {"correction": 0}),
        ]
        if sizes:
            yield "torch.nn.functional.normalize", (x, 2, dim), {}


@pytest.mark.parametrize("cases", [reductions, places, lanes])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def test_a_sum_loops_over_the_dims_that_go() -> None:
    (map_,) = drawn("torch.sum", torch.ones(2, 3, 4), (0, 2)).maps
    assert str(map_.reads[0]) == "input[u, i, v]"
    assert [(loop.letter, loop.size) for loop in map_.loops] == [("u", 2), ("v", 4)]


def test_a_kept_dim_has_a_letter_that_is_not_read() -> None:
    (map_,) = drawn("torch.amax", torch.ones(2, 3), 1, True).maps
    assert (map_.letters, str(map_.reads[0])) == (("i", "j"), "input[i, u]")


def test_a_softmax_reads_the_whole_row() -> None:
    (map_,) = drawn("torch.softmax", torch.ones(2, 3), -1).maps
    assert (str(map_.reads[0]), str(map_.at)) == ("input[i, u]", "j")


def test_a_loop_is_not_named_as_the_tensor() -> None:
    x = whole(random.Random(0), 9, 2, 1, 2, 2).float()
    (map_,) = drawn("torch.linalg.vector_norm", x, 3).maps
    assert "x" not in {loop.letter for loop in map_.loops}


def test_values_and_places_are_two_maps() -> None:
    made = drawn("torch.max", torch.tensor([[1.0, 3, 3]]), 1)
    assert [map_.combine for map_ in made.maps] == ["amax", "argmax"]


def test_a_product_that_leaves_the_range_on_the_way_is_not_compared() -> None:
    x = torch.full((40,), 1e3)
    x[-1] = 0
    made = drawn("torch.prod", x)
    assert made.maps
    assert not made.checked
