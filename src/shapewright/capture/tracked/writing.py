"""Expressions, shortened where the numbers in them can be taken together."""

from __future__ import annotations

import operator
from collections.abc import Callable

from shapewright.trace.guards import Applied, Expression


def written(symbol: str, parts: tuple[Expression, ...], whole: bool) -> Expression:
    """The operator applied; numbers added or multiplied in a row become one.

    `while h > 4: h = h - 2` makes ``h - 6``, not ``h - 2 - 2 - 2``. Only of whole
    numbers: fractions would round otherwise.
    """
    if not whole or len(parts) != 2:
        return Applied(symbol, parts)
    left, right = parts
    if symbol == "-" and isinstance(right, int):
        symbol, right = "+", -right
    if symbol in ("+", "*") and isinstance(left, int):
        left, right = right, left
    if symbol in IN_A_ROW and isinstance(right, int) and isinstance(left, Applied):
        inner, number = left.parts[0], left.parts[-1]
        above = symbol != "//" or right > 0
        if left.operator == symbol and isinstance(number, int) and above:
            left, right = inner, IN_A_ROW[symbol](number, right)
    neutral = {"+": 0, "*": 1, "//": 1}.get(symbol)
    return left if right == neutral else Applied(symbol, (left, right))


IN_A_ROW: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "*": operator.mul, "//": operator.mul,
}  # fmt: skip
