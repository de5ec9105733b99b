"""Divisions by formulas: as data, and done where they come out even.

>>> from shapewright.sizes.expressions import read
>>> over = Over(read("7*(H//7)*W"), read("H//7"))
>>> str(over), str(undivided(over, {"H": Ladder(7), "W": Ladder(1)}))
('7*W*(H//7) // (H//7)', '7*W')

>>> from shapewright.sizes.expressions import read
>>> over = Over(read("7*(H//7)*W"), read("H//7"))
>>> str(over), str(undivided(over, {"H": Ladder(7), "W": Ladder(1)}))
('7*W*(H//7) // (H//7)', '7*W')
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from shapewright.sizes.conditions import equal
from shapewright.sizes.expressions import (
    Absolute,
    Clamped,
    Expression,
    Least,
    Most,
    Product,
    Quotient,
    Remainder,
    Total,
    Values,
    inner,
    number,
    product,
    scaled,
    total,
)
from shapewright.sizes.floor_division import divided, remaining
from shapewright.sizes.ranges import Ladder, Ladders, bounds

__all__ = ["Ladder", "Over", "Rest", "undivided"]


@dataclass(frozen=True, slots=True)
class Over(Expression):
    """`a // b`, rounded down; 0 where `b` is 0, which no run comes past."""

    over: Expression
    by: Expression

    def value(self, letters: Values) -> int:
        by = self.by.value(letters)
        return self.over.value(letters) // by if by else 0

    def letters(self) -> frozenset[str]:
        return self.over.letters() | self.by.letters()

    def __str__(self) -> str:
        return f"{inner(self.over)} // ({self.by})"


@dataclass(frozen=True, slots=True)
class Rest(Expression):
    """`a % b`; 0 where `b` is 0, which no run comes past."""

    over: Expression
    by: Expression

    def value(self, letters: Values) -> int:
        by = self.by.value(letters)
        return self.over.value(letters) % by if by else 0

    def letters(self) -> frozenset[str]:
        return self.over.letters() | self.by.letters()

    def __str__(self) -> str:
        return f"{inner(self.over)} % ({self.by})"


def undivided(formula: Expression, ladders: Ladders) -> Expression:
    """Return the formula with all exact divisions by formulas carried out."""
    match formula:
        case Total(terms, constant):
            made = [(undivided(term, ladders), factor) for term, factor in terms]
            return total([(constant, 1), *made])
        case Product(factors):
            return product([undivided(each, ladders) for each in factors])
        case Quotient(over, divisor):
            return divided(undivided(over, ladders), divisor)
        case Remainder(over, divisor):
            return remaining(undivided(over, ladders), divisor)
        case Absolute(over):
            return Absolute(undivided(over, ladders))
        case Clamped(over, low, high):
            return Clamped(undivided(over, ladders), low, high)
        case Least(parts):
            return Least(tuple(undivided(each, ladders) for each in parts))
        case Most(parts):
            return Most(tuple(undivided(each, ladders) for each in parts))
        case Over(over, by):
            one, two = undivided(over, ladders), undivided(by, ladders)
            if not two.letters():
                divisor = two.value({})
                return divided(one, divisor) if divisor > 0 else Over(one, two)
            even = _even(one, two, ladders)
            return Over(one, two) if even is None else even
        case Rest(over, by):
            one, two = undivided(over, ladders), undivided(by, ladders)
            if not two.letters():
                divisor = two.value({})
                return remaining(one, divisor) if divisor > 0 else Rest(one, two)
            if _even(one, two, ladders) is not None:
                return number(0)
            return one if _smaller(one, two, ladders) else Rest(one, two)
    return formula


def _even(over: Expression, by: Expression, ladders: Ladders) -> Expression | None:
    """Return the quotient of an exact division: factors cancelled, or a number."""
    low, _ = bounds(by, ladders)
    if low is None or low < 1:
        return None
    one, two = _cancelled(over, by, ladders)
    if not two.letters() and two.value({}) == 1:
        return one
    first = {name: ladders[name].low for name in over.letters() | by.letters()}
    times = over.value(first) // by.value(first)
    return number(times) if equal(over, by * times, ladders).holds else None


def _cancelled(
    over: Expression, by: Expression, ladders: Ladders
) -> tuple[Expression, Expression]:
    """Cancel the common factors of two formulas that are always positive."""
    (top, above), (bottom, below) = scaled(over), scaled(by)
    first, second = list(above), list(below)
    for factor in above:
        low, _ = bounds(factor, ladders)
        if factor in second and low is not None and low >= 1:
            first.remove(factor)
            second.remove(factor)
    common = gcd(top, bottom) or 1
    return (
        product([number(top // common), *first]),
        product([number(bottom // common), *second]),
    )


def _smaller(one: Expression, two: Expression, ladders: Ladders) -> bool:
    """Return whether `one` is never negative and always less than `two`."""
    low, _ = bounds(one, ladders)
    first, second = _cancelled(one, two, ladders)
    least, _ = bounds(second - first, ladders)
    return low is not None and low >= 0 and least is not None and least > 0
