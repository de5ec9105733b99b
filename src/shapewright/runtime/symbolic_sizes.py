"""Torch's symbolic sizes as formulas: the contents of a `SymInt` and of a guard.

Sizes that torch computes with a float, as `H * 1.5` rounded, are read if the float is
exact: a fraction whose denominator is a power of two, or a division rounded at once.
Anything else raises `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shapewright.sizes.conditions import (
    Compared,
    Condition,
    Every,
    Some,
    negate_condition,
)
from shapewright.sizes.expressions import (
    Absolute,
    Expression,
    Letter,
    Quotient,
    Remainder,
    least,
    most,
    number,
    product,
    total,
)
from shapewright.sizes.formula_division import Over, Rest

RELATIONS = {
    "Equality": "==", "Unequality": "!=", "GreaterThan": ">=",
    "StrictGreaterThan": ">", "LessThan": "<=", "StrictLessThan": "<",
}  # fmt: skip

EXACT = 1 << 20
"""The largest denominator of a float that is read as a fraction."""


class Unreadable(Exception):
    """Raised for a size or a condition that has no formula."""


class SymbolReader:
    """A converter of torch's sizes to formulas; `letters` maps symbols to letters."""

    def __init__(self, letters: Mapping[str, str]) -> None:
        self.letters = letters

    def size(self, value: Any) -> Expression:
        """Return a size, which is a number or a `SymInt`, as a formula."""
        if isinstance(value, int):
            return number(value)
        return self.formula(value.node.expr)

    def formula(self, formula: Any) -> Expression:
        """Convert a sympy formula to ours."""
        if formula.is_Integer:
            return number(int(formula))
        if formula.is_Symbol:
            name = self.letters.get(formula.name)
            if name is None:
                raise Unreadable(f"a size that depends on data ({formula.name})")
            return Letter(name)
        kind = type(formula).__name__
        parts = formula.args
        match kind:
            case "Add":
                return total([(self.formula(part), 1) for part in parts])
            case "Mul" if all(part.is_integer for part in parts):
                return product([self.formula(part) for part in parts])
            case "Pow" if parts[1].is_Integer and parts[1] > 0:
                return product([self.formula(parts[0])] * int(parts[1]))
            case "FloorDiv" | "CleanDiv":
                return _divide_down(self.formula(parts[0]), self.formula(parts[1]))
            case "Mod" | "PythonMod":
                return _compute_remainder(
                    self.formula(parts[0]), self.formula(parts[1])
                )
            case "ModularIndexing":
                whole = _divide_down(self.formula(parts[0]), self.formula(parts[1]))
                return _compute_remainder(whole, self.formula(parts[2]))
            case "Max":
                return most([self.formula(part) for part in parts])
            case "Min":
                return least([self.formula(part) for part in parts])
            case "Abs":
                return Absolute(self.formula(parts[0]))
            case "Identity":
                return self.formula(parts[0])
            case "FloorToInt" | "floor":
                above, under = self.fraction(parts[0])
                return _divide_down(above, number(under))
            case "TruncToInt":  # towards zero, from both sides
                above, under = self.fraction(parts[0])
                up, down = (most([e, number(0)]) for e in (above, -above))
                return _divide_down(up, number(under)) - _divide_down(
                    down, number(under)
                )
            case "CeilToInt" | "ceiling":
                above, under = self.fraction(parts[0])
                return -_divide_down(-above, number(under))
        raise Unreadable(f"a size that no formula is read from ({formula})")

    def fraction(self, fraction: Any) -> tuple[Expression, int]:
        """Return a float as a fraction: a formula and its integer denominator."""
        kind, parts = type(fraction).__name__, fraction.args
        if kind == "ToFloat":
            return self.formula(parts[0]), 1
        if fraction.is_Float or fraction.is_Rational:
            exact = Fraction(float(fraction))
            if exact.denominator <= EXACT:
                return number(exact.numerator), exact.denominator
        elif kind == "IntTrueDiv" and parts[1].is_Integer and parts[1] > 0:
            return self.formula(parts[0]), int(parts[1])
        elif kind in ("Mul", "FloatMul") or fraction.is_Mul:
            factors: list[Expression] = []
            under = 1
            for part in parts:
                above, below = self.fraction(part)
                if below & (below - 1):
                    break
                factors.append(above)
                under *= below
            else:
                return product(factors), under
        elif fraction.is_integer:
            return self.formula(fraction), 1
        raise Unreadable(f"a size worked out in floats ({fraction})")

    def condition(self, condition: Any) -> Condition:
        """Convert a sympy condition to ours."""
        kind = type(condition).__name__
        if kind in RELATIONS:
            left, right = self.formula(condition.lhs), self.formula(condition.rhs)
            return Compared(left, RELATIONS[kind], right)
        match kind:
            case "BooleanTrue":
                return Every(())
            case "BooleanFalse":
                return Some(())
            case "And":
                return Every(
                    tuple(self.condition(argument) for argument in condition.args)
                )
            case "Or":
                return Some(
                    tuple(self.condition(argument) for argument in condition.args)
                )
            case "Not":
                return negate_condition(self.condition(condition.args[0]))
        raise Unreadable(f"a condition that is not read ({condition})")


def _divide_down(dividend: Expression, divisor_formula: Expression) -> Expression:
    """Return the quotient of two formulas, rounded down."""
    if divisor_formula.letters():
        return Over(dividend, divisor_formula)
    divisor = divisor_formula.value({})
    if divisor <= 0:
        raise Unreadable(f"a division by {divisor}")
    return dividend if divisor == 1 else Quotient(dividend, divisor)


def _compute_remainder(dividend: Expression, divisor_formula: Expression) -> Expression:
    """Return the remainder of `dividend` divided by `divisor_formula`."""
    if divisor_formula.letters():
        return Rest(dividend, divisor_formula)
    divisor = divisor_formula.value({})
    if divisor <= 0:
        raise Unreadable(f"a division by {divisor}")
    return number(0) if divisor == 1 else Remainder(dividend, divisor)
