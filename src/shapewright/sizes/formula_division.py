"""Divisions by formulas: as data, and done where they come out even.

>>> from shapewright.sizes.expressions import read
>>> over = Over(read("7*(H//7)*W"), read("H//7"))
>>> str(over), str(carry_out_divisions(over, {"H": Ladder(7), "W": Ladder(1)}))
('7*W*(H//7) // (H//7)', '7*W')
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from shapewright.sizes.conditions import compare_formulas
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
    add_brackets,
    number,
    product,
    split_factor,
    total,
)
from shapewright.sizes.floor_division import compute_remainder, divide_floor
from shapewright.sizes.ranges import Ladder, Ladders, find_bounds

__all__ = ["Ladder", "Over", "Rest", "carry_out_divisions"]


@dataclass(frozen=True, slots=True)
class Over(Expression):
    """`a // b`, rounded down; 0 if `b` is 0, where the program itself would fail."""

    over: Expression
    by: Expression

    def value(self, letters: Values) -> int:
        by = self.by.value(letters)
        return self.over.value(letters) // by if by else 0

    def letters(self) -> frozenset[str]:
        return self.over.letters() | self.by.letters()

    def __str__(self) -> str:
        return f"{add_brackets(self.over)} // ({self.by})"


@dataclass(frozen=True, slots=True)
class Rest(Expression):
    """`a % b`; 0 if `b` is 0, where the program itself would fail."""

    over: Expression
    by: Expression

    def value(self, letters: Values) -> int:
        by = self.by.value(letters)
        return self.over.value(letters) % by if by else 0

    def letters(self) -> frozenset[str]:
        return self.over.letters() | self.by.letters()

    def __str__(self) -> str:
        return f"{add_brackets(self.over)} % ({self.by})"


def carry_out_divisions(formula: Expression, ladders: Ladders) -> Expression:
    """Return the formula with all exact divisions by formulas carried out."""
    match formula:
        case Total(terms, constant):
            new_terms = [
                (carry_out_divisions(term, ladders), factor) for term, factor in terms
            ]
            return total([(constant, 1), *new_terms])
        case Product(factors):
            return product([carry_out_divisions(factor, ladders) for factor in factors])
        case Quotient(over, divisor):
            return divide_floor(carry_out_divisions(over, ladders), divisor)
        case Remainder(over, divisor):
            return compute_remainder(carry_out_divisions(over, ladders), divisor)
        case Absolute(over):
            return Absolute(carry_out_divisions(over, ladders))
        case Clamped(over, low, high):
            return Clamped(carry_out_divisions(over, ladders), low, high)
        case Least(parts):
            return Least(tuple(carry_out_divisions(part, ladders) for part in parts))
        case Most(parts):
            return Most(tuple(carry_out_divisions(part, ladders) for part in parts))
        case Over(over, by):
            numerator, denominator = (
                carry_out_divisions(over, ladders),
                carry_out_divisions(by, ladders),
            )
            if not denominator.letters():
                divisor = denominator.value({})
                return (
                    divide_floor(numerator, divisor)
                    if divisor > 0
                    else Over(numerator, denominator)
                )
            even = _divide_evenly(numerator, denominator, ladders)
            return Over(numerator, denominator) if even is None else even
        case Rest(over, by):
            numerator, denominator = (
                carry_out_divisions(over, ladders),
                carry_out_divisions(by, ladders),
            )
            if not denominator.letters():
                divisor = denominator.value({})
                return (
                    compute_remainder(numerator, divisor)
                    if divisor > 0
                    else Rest(numerator, denominator)
                )
            if _divide_evenly(numerator, denominator, ladders) is not None:
                return number(0)
            return (
                numerator
                if _is_smaller(numerator, denominator, ladders)
                else Rest(numerator, denominator)
            )
    return formula


def _divide_evenly(
    over: Expression, by: Expression, ladders: Ladders
) -> Expression | None:
    """Return the quotient of an exact division: factors cancelled, or a number."""
    low, _ = find_bounds(by, ladders)
    if low is None or low < 1:
        return None
    numerator, denominator = _cancel_factors(over, by, ladders)
    if not denominator.letters() and denominator.value({}) == 1:
        return numerator
    first = {name: ladders[name].low for name in over.letters() | by.letters()}
    times = over.value(first) // by.value(first)
    return number(times) if compare_formulas(over, by * times, ladders).holds else None


def _cancel_factors(
    over: Expression, by: Expression, ladders: Ladders
) -> tuple[Expression, Expression]:
    """Cancel the common factors of two formulas that are always positive."""
    (top, above), (bottom, below) = split_factor(over), split_factor(by)
    first, second = list(above), list(below)
    for factor in above:
        low, _ = find_bounds(factor, ladders)
        if factor in second and low is not None and low >= 1:
            first.remove(factor)
            second.remove(factor)
    common = gcd(top, bottom) or 1
    return (
        product([number(top // common), *first]),
        product([number(bottom // common), *second]),
    )


def _is_smaller(left: Expression, right: Expression, ladders: Ladders) -> bool:
    """Return whether `left` is never negative and always less than `right`."""
    low, _ = find_bounds(left, ladders)
    first, second = _cancel_factors(left, right, ladders)
    least, _ = find_bounds(second - first, ladders)
    return low is not None and low >= 0 and least is not None and least > 0
