"""Index maps against torch: random calls of a family, every few elements compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from shapewright.index_maps.drawn_calls import Drawn
from shapewright.runtime.operator_calls.drawing import draw_call

Case = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A dotted torch name and the arguments of one call."""


def function(name: str) -> Callable[..., Any]:
    """`torch.nn.functional.conv2d` for its name."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    if not callable(found):  # `torch.Tensor.T`
        found = found.__get__
    return found  # type: ignore[no-any-return]


def drawn(name: str, *args: Any, **kwargs: Any) -> Drawn:
    """A call with its index map, compared with torch at random elements."""
    return draw_call(function(name), name, args, kwargs)


def assert_all_drawn(cases: Iterator[Case], count: int) -> None:
    """Each of the next `count` cases that torch takes has a map that agrees with it.

    `draw_call` raises where a map and torch disagree. A case that torch refuses is a
    fault of the generator; an empty output has nothing to compare.
    """
    for _, (name, args, kwargs) in zip(range(count), cases, strict=False):
        made = drawn(name, *args, **kwargs)
        assert not made.error, f"{name}{args}{kwargs}: {made.error}"
        assert made.maps, f"{name}{args}{kwargs}: {made.reason}"
        assert made.checked or not any(out.size for out in made.outputs)


def shape(draw: random.Random, rank: int, most: int = 5, least: int = 1) -> list[int]:
    """Sizes of a tensor."""
    return [draw.randint(least, most) for _ in range(rank)]


def floats(draw: random.Random, *sizes: int) -> torch.Tensor:
    """A float tensor of small whole numbers, so that sums of products are exact."""
    generator = torch.Generator().manual_seed(draw.randint(0, 1 << 30))
    return torch.randint(-9, 10, sizes, generator=generator).float()


def whole(draw: random.Random, high: int, *sizes: int) -> torch.Tensor:
    """Whole numbers from 0 up to, not including, `high`."""
    generator = torch.Generator().manual_seed(draw.randint(0, 1 << 30))
    return torch.randint(0, high, sizes, generator=generator)
