"""Needs of indices whose values are known."""

from __future__ import annotations

from collections.abc import Sequence

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.unmet import Grant, Place, Unmet


def place_in(shape: Sequence[int], flat: int) -> str:
    """`[3, 5]` of an element that is counted row by row; nothing for a scalar."""
    found: list[int] = []
    for size in reversed(shape):
        found.append(flat % size)
        flat //= size
    return f"[{', '.join(map(str, reversed(found)))}]" if found else ""


def out_of_range(
    name: str,
    index: Meta,
    count: int,
    table: str,
    dim: int,
    what: str = "rows",
    allowed: frozenset[int] | set[int] = frozenset(),
    least: int = 0,
) -> Unmet | None:
    """The first index that reads beyond, where values are known."""
    values: tuple[int, ...] | None = getattr(index, "values", None)
    if values is None:
        return None
    for at, value in enumerate(values):
        if not least <= value < count and value not in allowed:
            place = place_in(index.shape, at)
            where = f"{{{name}}} at {place}" if place else f"{{{name}}}"
            top = f"0 to {count - 1}" if count else "none"
            return Unmet(
                "index-out-of-range",
                f"{{op}} reads {what} {top} of {{{table}}}, but {where} is {value}",
                Place(name),
                Place(table, dim),
                value,
                count,
                (Grant(name, Made(index.shape, index.dtype, index.stride)),),
            )
    return None
