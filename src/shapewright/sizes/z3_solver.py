"""Decisions by z3, if it is installed and sizes are too many to try each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.sizes.conditions import Compared, Condition, Decision, Every, Some
from shapewright.sizes.expressions import (
    Absolute,
    Clamped,
    Expression,
    Least,
    Letter,
    Most,
    Product,
    Quotient,
    Remainder,
    Total,
)
from shapewright.sizes.formula_division import Over, Rest
from shapewright.sizes.ranges import Ladders

STEPS = 20_000_000
"""The effort limit of z3, in its own steps."""


def ask_solver(
    condition: Condition, live: Sequence[Condition], ladders: Ladders
) -> Decision:
    """Return whether a condition holds at all sizes at which those of `live` do.

    Sizes at which it does not are checked; without z3 nothing is decided.
    """
    try:
        import z3
    except ImportError:
        return Decision(None)
    asking = _Asking(z3, ladders)
    try:
        conditions = [asking.condition(part) for part in live]
        conditions.append(z3.Not(asking.condition(condition)))
    except TypeError:  # a condition of another kind
        return Decision(None)
    solver = z3.Solver()
    solver.set("rlimit", STEPS)
    solver.add(*asking.ranges, *conditions)
    answer = solver.check()
    if answer == z3.unsat:
        return Decision(True)
    if answer != z3.sat:
        return Decision(None)
    model = solver.model()
    sizes = {
        name: model.eval(letter, model_completion=True).as_long()
        for name, letter in asking.letters.items()
    }
    refuted = not condition.holds(sizes) and all(part.holds(sizes) for part in live)
    return Decision(False, sizes) if refuted else Decision(None)


class _Asking:
    """Conversion of formulas and conditions to z3."""

    def __init__(self, z3: Any, ladders: Ladders) -> None:
        self.z3 = z3
        self.letters: dict[str, Any] = {}
        self.ranges: list[Any] = []
        for name, ladder in ladders.items():
            rung = z3.Int(f"{name} rung")
            self.ranges.append(rung >= 0)
            if ladder.count is not None:
                self.ranges.append(rung < ladder.count)
            self.letters[name] = ladder.low + ladder.step * rung

    def formula(self, formula: Expression) -> Any:
        """Convert a formula; for positive numbers z3's `/` and `%` equal Python's."""
        z3 = self.z3
        match formula:
            case Letter(name):
                return self.letters[name]
            case Total(terms, constant):
                parts = [self.formula(term) * factor for term, factor in terms]
                return z3.Sum([z3.IntVal(constant), *parts])
            case Product(factors):
                return z3.Product([self.formula(factor) for factor in factors])
            case Quotient(over, divisor) if divisor > 0:
                return self.formula(over) / divisor
            case Remainder(over, divisor) if divisor > 0:
                return self.formula(over) % divisor
            case Absolute(over):
                inner = self.formula(over)
                return z3.If(inner < 0, -inner, inner)
            case Clamped(over, low, high):
                inner = self.formula(over)
                if low is not None:
                    inner = z3.If(inner < low, z3.IntVal(low), inner)
                if high is not None:
                    inner = z3.If(inner > high, z3.IntVal(high), inner)
                return inner
            case Least(parts_) | Most(parts_):
                first, *rest = [self.formula(part) for part in parts_]
                for other in rest:
                    less = (
                        other < first if isinstance(formula, Least) else other > first
                    )
                    first = z3.If(less, other, first)
                return first
            case Over(over, by):
                numerator, denominator = self.formula(over), self.formula(by)
                negative = z3.If(
                    denominator < 0, (-numerator) / (-denominator), z3.IntVal(0)
                )
                return z3.If(denominator > 0, numerator / denominator, negative)
            case Rest(over, by):
                numerator, denominator = self.formula(over), self.formula(by)
                negative = z3.If(
                    denominator < 0, -((-numerator) % (-denominator)), z3.IntVal(0)
                )
                return z3.If(denominator > 0, numerator % denominator, negative)
        raise TypeError(formula)

    def condition(self, condition: Condition) -> Any:
        """Convert a condition."""
        z3 = self.z3
        match condition:
            case Compared(left_side, relation, right_side):
                left, right = self.formula(left_side), self.formula(right_side)
                return {
                    "==": left == right, "!=": left != right, ">=": left >= right,
                    ">": left > right, "<=": left <= right, "<": left < right,
                }[relation]  # fmt: skip
            case Every(parts):
                return z3.And([self.condition(part) for part in parts])
            case Some(parts):
                return z3.Or([self.condition(part) for part in parts])
        raise TypeError(condition)
