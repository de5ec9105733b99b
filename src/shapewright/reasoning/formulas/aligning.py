"""Which call of one run is which of another: by place, module and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Shapes = tuple[tuple[int, ...], ...]


class Sample(Protocol):
    """What one run at stated sizes showed: see `engine/derived/recipe.py`."""

    @property
    def letters(self) -> Any: ...
    @property
    def keys(self) -> tuple[Any, ...]: ...
    @property
    def taken(self) -> tuple[Shapes, ...]: ...
    @property
    def given(self) -> tuple[Shapes, ...]: ...
    @property
    def steps(self) -> tuple[Shapes, ...]: ...
    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]: ...


def aligned(base: Sample, other: Sample) -> Sequence[int | None]:
    """For each call of `base` the same call of `other`, None where it made none.

    The n-th call of a key is the n-th call of that key.
    """
    if base.keys == other.keys:
        return range(len(base.keys))
    places: dict[Any, list[int]] = {}
    for at, key in enumerate(other.keys):
        places.setdefault(key, []).append(at)
    counts: dict[Any, int] = {}
    found: list[int | None] = []
    for key in base.keys:
        nth = counts[key] = counts.get(key, -1) + 1
        there = places.get(key, ())
        found.append(there[nth] if nth < len(there) else None)
    return found


def parting(base: Sample, other: Sample) -> int | None:
    """The first call of `base` after which the two runs go different ways."""
    if base.keys == other.keys:
        return None
    for at, (one, two) in enumerate(zip(base.keys, other.keys, strict=False)):
        if one != two:
            return at
    return min(len(base.keys), len(other.keys)) - 1
