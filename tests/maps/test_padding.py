"""Padding, triangles and diagonals read the elements that their maps say."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

from maps.oracle import Case, assert_all_drawn, drawn, floats, shape

PAD = "torch.nn.functional.pad"


def pads(draw: random.Random) -> Iterator[Case]:
    while True:
        rank = draw.randint(1, 4)
        x = floats(draw, *shape(draw, rank))
        pairs: list[int] = []
        for size in reversed(x.shape[draw.randrange(rank) :]):
            left = draw.randint(-size, 3)
            pairs += [left, draw.randint(max(-size, -size - left), 3)]
        value = draw.choice([{}, {"value": -2.5}])
        yield PAD, (x, pairs), value
        mode = draw.choice(["reflect", "replicate", "circular"])
        dims = draw.randint(1, 3)
        x = floats(draw, *shape(draw, dims + draw.randint(1, 2), 6))
        pairs = []
        for size in reversed(x.shape[-dims:]):
            # Reflecting reaches no further than the other edge, wrapping no further.
            most = size - 1 if mode == "reflect" else min(size, 4)
            least = 1 - size if mode == "replicate" else 0
            left = draw.randint(least, most)
            right = draw.randint(max(least, 1 - size - left), most)
            pairs += [left, right]
        yield PAD, (x, pairs, mode), {}


def triangles(draw: random.Random) -> Iterator[Case]:
    while True:
        x = floats(draw, *shape(draw, draw.randint(2, 4)))
        name = draw.choice(["tril", "triu", "tril_", "triu_"])
        yield f"torch.Tensor.{name}", (x, draw.randint(-5, 5)), {}
        flat = floats(draw, *shape(draw, draw.randint(1, 2)))
        offset = draw.randint(1 - flat.shape[0], flat.shape[-1] - 1)
        yield "torch.diag", (flat, offset), {}
        yield "torch.diagflat", (x, draw.randint(-2, 2)), {}
        x = floats(draw, *shape(draw, draw.randint(1, 3)))
        dims = draw.sample(range(-x.ndim - 1, 0), 2)
        yield "torch.diag_embed", (x, draw.randint(-3, 3), *dims), {}


@pytest.mark.parametrize("cases", [pads, triangles])
def test_random_calls(cases) -> None:  # type: ignore[no-untyped-def]
    assert_all_drawn(cases(random.Random(0)), 60)


@pytest.mark.parametrize(
    ("pad", "mode", "read"),
    [
        ((1, 2), "reflect", "input[i, 4 - abs(4 - abs(j - 1))]"),
        ((2, 0), "reflect", "input[i, abs(j - 2)]"),
        ((1, 2), "replicate", "input[i, min(max(j - 1, 0), 4)]"),
        ((1, 2), "circular", "input[i, (j - 1)%5]"),
        ((-1, -1), "replicate", "input[i, j + 1]"),
    ],
)
def test_each_mode_is_written_as_one_index(
    pad: tuple[int, ...], mode: str, read: str
) -> None:
    (found,) = drawn(PAD, torch.zeros(3, 5), pad, mode).maps
    assert str(found.reads[0]) == read


def test_around_a_constant_pad_stands_its_value() -> None:
    (found,) = drawn(PAD, torch.zeros(3, 5), (1, 1), value=7.0).maps
    assert str(found.reads[0]) == "input[i, j - 1]"
    assert [str(one) for one in found.conditions] == ["1 <= j < 6"]
    assert found.start == 7.0


def test_a_triangle_is_one_comparison() -> None:
    (found,) = drawn("torch.tril", torch.ones(4, 4)).maps
    assert [str(one) for one in found.conditions] == ["j <= i"]
    (found,) = drawn("torch.triu", torch.ones(4, 4), 1).maps
    assert [str(one) for one in found.conditions] == ["i + 1 <= j"]
