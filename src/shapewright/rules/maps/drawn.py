"""What is known of one operator call that is to be drawn: all that a view needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shapewright.rules.maps.beside import Beside
from shapewright.rules.maps.index_map import IndexMap


@dataclass(frozen=True, slots=True)
class Side:
    """A tensor that goes in or comes out, by its name in the call.

    `values` are nested lists, or what is indexed like them and has `some` of them in a
    list; None where there are none to show. `shares` is the
    name of the input whose storage an output looks at, None for a new one. `letters`
    are the names of its sizes, None for a size without one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] = ()
    offset: int = 0
    values: Any = None
    shares: str | None = None
    letters: tuple[str | None, ...] = ()

    @property
    def size(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def written(self) -> tuple[str, ...]:
        """Its sizes as text: `B=8` where a size has a name."""
        letters = self.letters or (None,) * len(self.shape)
        return tuple(
            str(size) if letter is None else f"{letter}={size}"
            for size, letter in zip(self.shape, letters, strict=True)
        )

    @property
    def shape_text(self) -> str:
        """Its shape as text: `(8, 3)`, `(B=8, 3)`."""
        sizes = self.written
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A call, what went in and came out, and how each element came about.

    `maps` has one for each output, or is empty, and `reason` says why. `checked` is
    the number of elements at which the maps were compared with torch, `error` what
    torch says of a call that does not fit. `sizes` are the size formulas of windows,
    with the numbers put in, one for each spatial dim. `stages` are the tensors that
    the first map works out on the way, with values where these are few. `notes` is what
    else there is to say of the shapes and values, `beside` what autograd and the
    dispatcher say of the call, None where it did not run. `refusal` says what a call
    that torch refuses needed and did not get.
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
    notes: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    beside: Beside | None = None
