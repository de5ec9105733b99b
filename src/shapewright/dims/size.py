"""A size that knows its formula: a number to compute with, letters to read."""

from __future__ import annotations

from typing import Any

from shapewright.dims.expression import Expression


class Size(int):
    """A whole number that prints as the formula that it comes from.

    >>> from shapewright.dims.expression import Letter
    >>> size = Size(16, Letter("H") // 2)
    >>> print(size, size + 1, size == 16)
    H//2 17 True
    """

    formula: Expression

    def __new__(cls, value: int, formula: Expression) -> Size:
        made = super().__new__(cls, value)
        made.formula = formula
        return made

    def __repr__(self) -> str:
        return str(self.formula)

    __str__ = __repr__

    def __getnewargs__(self) -> tuple[Any, ...]:
        return int(self), self.formula


def sized(value: int, formula: Expression | None) -> int:
    """The number with its formula; the bare number where that says no more.

    A stride is another number where its dim has one element: `Size(5, number(20))`.
    """
    if formula is None or (not formula.letters() and formula.value({}) == value):
        return value
    return Size(value, formula)
