"""Elementwise maps: operands are lined up, functions read their own place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape, whole
from shapewright.operators.pointwise.index_map import ACTIVATIONS

TWO = """add sub mul div remainder fmod maximum minimum atan2 hypot copysign eq lt ge
logical_and logical_xor true_divide floor_divide pow xlogy fmax""".split()
METHODS = "add_ mul_ sub_ __add__ __radd__ __rsub__ __rpow__ __truediv__ __ge__".split()


def stretchable(draw: random.Random, sizes: list[int]) -> list[int]:
    """A shape that is broadcast to `sizes`: fewer dims, or sizes of 1."""
    kept = sizes[draw.randint(0, len(sizes)) :]
    return [1 if draw.random() < 0.3 else size for size in kept]


def pairs(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(0, 4))
        one, two = floats(draw, *sizes), floats(draw, *stretchable(draw, sizes))
        name = draw.choice(TWO)
        if draw.random() < 0.3:
            method = draw.choice(METHODS)
            number = draw.random() < 0.4 or method == "__rpow__"
            other = draw.choice([2, -1.5]) if number else two
            yield f"torch.Tensor.{method}", (one, other), {}
            continue
        operands = [one, two] if draw.random() < 0.5 else [two, one]
        if name in ("pow", "div", "eq", "lt", "add") and draw.random() < 0.3:
            operands[1] = draw.choice([2, 0.5, -3])  # type: ignore[call-overload]
        more: dict[str, Any] = {}
        if name in ("add", "sub") and draw.random() < 0.5:
            more["alpha"] = draw.choice([2, -0.5])
        if name == "div" and draw.random() < 0.5:
            more["rounding_mode"] = draw.choice(["floor", "trunc"])
        yield f"torch.{name}", tuple(operands), more


def integer_pairs(draw: random.Random) -> Iterator[Case]:
    names = "add mul div floor_divide gcd bitwise_or lt remainder eq".split()
    while True:
        sizes = shape(draw, draw.randint(0, 3))
        small = stretchable(draw, sizes)
        high = draw.choice([4, 120])
        dtype = draw.choice([torch.uint8, torch.int64, torch.int8])
        operands = (
            (whole(draw, high, *sizes) + 1).to(dtype),
            (whole(draw, high, *small) + 1).to(dtype),
        )
        yield f"torch.{draw.choice(names)}", operands, {}


def threes(draw: random.Random) -> Iterator[Case]:
    while True:
        sizes = shape(draw, draw.randint(0, 4))
        one, two, three = (floats(draw, *stretchable(draw, sizes)) for _ in range(3))
        mask = floats(draw, *stretchable(draw, sizes)) > 0
        value = draw.choice([1, -2, 0.5])
        yield from [
            ("torch.where", (mask, one, two), {}),
            ("torch.where", (mask, one, value), {}),
            ("torch.Tensor.where", (one, mask, two), {}),
            ("torch.Tensor.masked_fill", (one, mask, value), {}),
            ("torch.lerp", (one, two, three), {}),
            ("torch.addcmul", (one, two, three), {"value": value}),
            ("torch.addcdiv", (one, two, three.abs() + 1), {"value": value}),
            ("torch.clamp", (one, two), {}),
            ("torch.clamp", (one, -1, 3), {}),
            ("torch.clamp", (one,), {"max": two}),
        ]


ONE = """exp neg abs sqrt sigmoid tanh relu square reciprocal isnan floor signbit
erf nan_to_num logical_not rsqrt""".split()


def singles(draw: random.Random) -> Iterator[Case]:
    while True:
        x = floats(draw, *shape(draw, draw.randint(0, 4))) / 4
        yield f"torch.{draw.choice(ONE)}", (x,), {}
        yield f"torch.Tensor.{draw.choice(ONE[:9])}_", (x.clone(),), {}
        name = draw.choice(ACTIVATIONS.split())
        needed = (0.5, -3.0) if name == "threshold" else ()
        yield f"torch.nn.functional.{name}", (x, *needed), {}
        yield from [
            ("torch.nn.functional.leaky_relu", (x, 0.3), {"inplace": False}),
            ("torch.nn.functional.gelu", (x,), {"approximate": "tanh"}),
            ("torch.nn.functional.softplus", (x, 2.0), {"threshold": 5.0}),
            ("torch.round", (x,), {"decimals": 1}),
        ]
        sizes = shape(draw, draw.randint(1, 3))
        dim = draw.randrange(-len(sizes), len(sizes))
        sizes[dim] *= 2
        yield "torch.nn.functional.glu", (floats(draw, *sizes), dim), {}


@pytest.mark.parametrize("cases", [pairs, integer_pairs, threes, singles])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


def reads(name: str, *args: Any, **kwargs: Any) -> list[str]:
    """The reads of a call's map, as they are shown."""
    return [str(read) for read in drawn(name, *args, **kwargs).maps[0].reads]


def test_a_stretched_size_is_read_at_0_and_a_missing_dim_not_at_all() -> None:
    column, row = torch.ones(2, 3, 1), torch.ones(4)
    assert reads("torch.add", column, row) == ["input[i, j, 0]", "other[k]"]


def test_a_number_is_read_as_itself() -> None:
    assert reads("torch.pow", torch.ones(2, 1), 2) == ["input[i, j]", "2"]
    assert reads("torch.Tensor.__rsub__", torch.ones(3), 1) == ["1", "input[i]"]


def test_where_reads_one_of_two() -> None:
    mask = torch.tensor([True, False])
    map_ = drawn("torch.where", mask, torch.ones(2), torch.zeros(3, 2)).maps[0]
    assert [str(read) for read in map_.reads] == ["input[j]", "other[i, j]"]
    assert str(map_.reads[0].when[0]) == "condition[j] == 1"


def test_a_where_without_values_is_not_drawn() -> None:
    made = drawn("torch.where", torch.tensor([True, False]))
    assert "depends on the values" in made.reason
