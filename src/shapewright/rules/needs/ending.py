"""What stood where the program's own Python ended a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shapewright.trace.fact import Fact


@dataclass(frozen=True, slots=True)
class Ending:
    """The innermost frame of the program when it raised.

    `tensors` and `values` are what names in it meant: `x`, `self.n`, `parts[0]`; of
    values only numbers, short texts and tuples of numbers. `library`: it was an
    installed library's frame that raised, or called what raised.
    """

    error: str
    message: str
    tensors: Mapping[str, Fact]
    values: Mapping[str, Any]
    library: bool = False
