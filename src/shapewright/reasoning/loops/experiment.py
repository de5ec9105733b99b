"""A loop and what may take its place, with small tensors to try both on, as data."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Made:
    """A tensor to make up: whole numbers lie from 0 to below `high`.

    `zeros` has no other values, `distinct` is a dim along which none comes twice.
    """

    shape: tuple[int, ...]
    dtype: str
    high: int = 5
    zeros: bool = False
    distinct: int | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """Run `loop`, run `instead`, and compare the tensors that `targets` name."""

    loop: tuple[ast.stmt, ...]
    instead: tuple[ast.stmt, ...]
    tensors: Mapping[str, Made]
    numbers: Mapping[str, Any]
    targets: tuple[str, ...]


UNTOUCHED = 6
"""Sizes that are small enough."""


def shrunk(sizes: Iterable[int]) -> dict[int, int]:
    """Small sizes for large ones: equal for equal, in the same order.

    Sizes up to 6 stay, because numbers may stand in brackets, and so do differences up
    to 3, because windows and shifted indices rest on them.

        >>> shrunk([64, 66, 1000, 3])
        {3: 3, 64: 5, 66: 7, 1000: 9}
    """
    made: dict[int, int] = {}
    before, small = 0, 0
    for size in sorted(set(sizes)):
        kept = size <= UNTOUCHED or size - before <= 3
        small += size - before if kept else 2
        before = size
        made[size] = small
    return made
