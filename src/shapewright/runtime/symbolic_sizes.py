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

    def formula(self, found: Any) -> Expression:
        """Convert a sympy formula to ours."""
        if found.is_Integer:
            return number(int(found))
        if found.is_Symbol:
            name = self.letters.get(found.name)
            if name is None:
                raise Unreadable(f"a size that depends on data ({found.name})")
            return Letter(name)
        kind = type(found).__name__
        parts = found.args
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
        raise Unreadable(f"a size that no formula is read from ({found})")

    def fraction(self, found: Any) -> tuple[Expression, int]:
        """Return a float as a fraction: a formula and its integer denominator."""
        kind, parts = type(found).__name__, found.args
        if kind == "ToFloat":
            return self.formula(parts[0]), 1
        if found.is_Float or found.is_Rational:
            exact = Fraction(float(found))
            if exact.denominator <= EXACT:
                return number(exact.numerator), exact.denominator
        elif kind == "IntTrueDiv" and parts[1].is_Integer and parts[1] > 0:
            return self.formula(parts[0]), int(parts[1])
        elif kind in ("Mul", "FloatMul") or found.is_Mul:
            made: list[Expression] = []
            under = 1
            for part in parts:
                above, below = self.fraction(part)
                if below & (below - 1):
                    break
                made.append(above)
                under *= below
            else:
                return product(made), under
        elif found.is_integer:
            return self.formula(found), 1
        raise Unreadable(f"a size worked out in floats ({found})")

    def condition(self, found: Any) -> Condition:
        """Convert a sympy condition to ours."""
        kind = type(found).__name__
        if kind in RELATIONS:
            left, right = self.formula(found.lhs), self.formula(found.rhs)
            return Compared(left, RELATIONS[kind], right)
        match kind:
            case "BooleanTrue":
                return Every(())
            case "BooleanFalse":
                return Some(())
            case "And":
                return Every(tuple(self.condition(argument) for argument in found.args))
            case "Or":
                return Some(tuple(self.condition(argument) for argument in found.args))
            case "Not":
                return negate_condition(self.condition(found.args[0]))
        raise Unreadable(f"a condition that is not read ({found})")


def _divide_down(one: Expression, two: Expression) -> Expression:
    """Return `one` divided by `two`, rounded down."""
    if two.letters():
        return Over(one, two)
    divisor = two.value({})
    if divisor <= 0:
        raise Unreadable(f"a division by {divisor}")
    return one if divisor == 1 else Quotient(one, divisor)


def _compute_remainder(one: Expression, two: Expression) -> Expression:
    """Return the remainder of `one` divided by `two`."""
    if two.letters():
        return Rest(one, two)
    divisor = two.value({})
    if divisor <= 0:
        raise Unreadable(f"a division by {divisor}")
    return number(0) if divisor == 1 else Remainder(one, divisor)
