"""What is known of one tensor that is to be drawn with its storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from shapewright.rules.maps.drawn import Side


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor, and the storage that it looks at.

    `cells` are the storage's first elements, `count` is how many there are. `base` is
    the shape of the tensor that this one was made a view of, `version` how often the
    storage was written in place; both are None where that is not known. `reason` says
    why there are no values.
    """

    side: Side
    count: int = 0
    cells: tuple[Any, ...] = ()
    itemsize: int = 0
    base: tuple[int, ...] | None = None
    version: int | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def reached(self) -> int:
        """How many cells of the storage the tensor reaches."""
        side = self.side
        if not side.size:
            return 0
        return len(set(offsets(side))) if side.size <= MOST else -1


MOST = 1 << 16
"""Elements up to which reached cells are counted one by one."""


def offsets(side: Side) -> Iterator[int]:
    """The storage cell of each element, in row-major order."""
    for index in product(*(range(size) for size in side.shape)):
        terms = zip(index, side.stride, strict=True)
        yield side.offset + sum(place * step for place, step in terms)
