"""What a run saw in data of the program, before it went on without them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataValues:
    """How many elements of a tensor are of a kind that few calls expect.

    Example: a table of 330 rows and 4 columns with 24 blank cells is
    ``DataValues(1320, nans=24)``.
    """

    elements: int
    nans: int = 0
    infinities: int = 0
    zeros: int = 0
    highest: int | None = None
    """The largest of whole numbers, such as class labels."""
    columns: tuple[int, ...] = ()
    """The largest of each column of a table of whole numbers."""
    quantiles: tuple[float, ...] = ()
    """Elements from the lowest to the highest, evenly spaced among the sorted ones."""
    column_quantiles: tuple[tuple[float, ...], ...] = ()
    """Such elements of each column of a table of numbers."""
    limits: tuple[float, float] | None = None
    """The lowest and the highest number, if all are finite."""
    kinds: tuple[int, ...] = ()
    """The distinct whole numbers, from the lowest on, if they are few."""
