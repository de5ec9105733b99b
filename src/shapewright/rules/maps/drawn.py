"""What is known of one operator call that is to be drawn: all that a view needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shapewright.rules.maps.index_map import IndexMap


@dataclass(frozen=True, slots=True)
class Side:
    """A tensor that goes in or comes out, by its name in the call.

    `values` are nested lists, None where there are too many to show. `shares` is the
    name of the input whose storage an output looks at, None for a new one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] = ()
    offset: int = 0
    values: Any = None
    shares: str | None = None

    @property
    def size(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call, what went in and came out, and how each element came about.

    `maps` has one for each output, or is empty, and `reason` says why. `checked` is
    the number of elements at which the maps were compared with torch, `error` what
    torch says of a call that does not fit. `sizes` are the size formulas of windows,
    with the numbers put in, one for each spatial dim. `stages` are the tensors that
    the first map works out on the way, with values where these are few.
    """

    text: str
    name: str
    inputs: tuple[Side, ...]
    outputs: tuple[Side, ...] = ()
    maps: tuple[IndexMap, ...] = ()
    reason: str = ""
    checked: int = 0
    error: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    sizes: tuple[str, ...] = ()
    stages: tuple[Side, ...] = ()
