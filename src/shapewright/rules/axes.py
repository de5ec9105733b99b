"""Dims as arguments: counted from either end, one or several, or all."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Misfit

Shape = tuple[int, ...]


def axis(dim: int, ndim: int) -> int:
    """The dim counted from the front: `axis(-1, 3) == 2`. A 0-dim tensor has dim 0."""
    least = max(ndim, 1)
    if not -least <= dim < least:
        raise Misfit(
            f"Dimension out of range (expected to be in range of [{-least}, "
            f"{least - 1}], but got {dim})",
            "IndexError",
        )
    return dim % least


def axes(dim: Any, ndim: int) -> frozenset[int]:
    """The dims that a reduction removes: None or an empty list means all of them."""
    if type(dim) is int:
        return frozenset((axis(dim, ndim),))
    if dim is None or not len(dim):
        return frozenset(range(ndim))
    found: set[int] = set()
    for one in dim:
        place = axis(one, ndim)
        if place in found:
            raise Misfit(f"dim {place} appears multiple times in the list of dims")
        found.add(place)
    return frozenset(found)


def reduced(shape: Shape, gone: frozenset[int], keepdim: bool) -> Shape:
    """The shape without those dims, or with 1 in their place.

    Example: `reduced((8, 16, 32), frozenset({1}), False) == (8, 32)`.
    """
    if keepdim:
        return tuple([1 if dim in gone else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in gone])
