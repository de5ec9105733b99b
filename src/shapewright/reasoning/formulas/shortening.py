"""Formulas as short as the sizes that a program takes allow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from shapewright.dims.exact import on_multiples
from shapewright.dims.expression import Expression
from shapewright.reasoning.formulas.fitted import UNKNOWN, CallFormulas, Dims


def shortened(
    calls: Sequence[CallFormulas], steps: Mapping[str, int]
) -> list[CallFormulas]:
    """The formulas where each letter is a multiple of its step: `2*(H//2)` is `H`."""
    return changed(calls, lambda formula: on_multiples(formula, steps))


def without(
    calls: Sequence[CallFormulas], open_: Collection[Expression]
) -> list[CallFormulas]:
    """The formulas, those that are not sure left out."""
    if not open_:
        return list(calls)
    return changed(calls, lambda formula: UNKNOWN if formula in open_ else formula)


def changed(
    calls: Sequence[CallFormulas], change: Callable[[Expression], Expression]
) -> list[CallFormulas]:
    """The formulas, each changed once."""
    known: dict[Expression, Expression] = {}
    made: dict[int, CallFormulas] = {}

    def dims(formulas: Dims) -> Dims:
        return tuple(None if each is None else short(each) for each in formulas)

    def short(formula: Expression) -> Expression:
        found = known.get(formula)
        if found is None:
            found = known[formula] = change(formula)
        return found

    def of(call: CallFormulas) -> CallFormulas:
        found = made.get(id(call))
        if found is None:
            found = made[id(call)] = CallFormulas(
                tuple(map(dims, call.shapes)),
                tuple(map(dims, call.strides)),
                dims(call.numbers),
            )
        return found

    return [of(call) for call in calls]
