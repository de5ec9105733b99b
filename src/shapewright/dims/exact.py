"""Formulas shortened for sizes that are multiples of a number.

>>> from shapewright.dims.reading import read
>>> str(on_multiples(read("2*(H//2) + H//4"), {"H": 4}))
'H + H//4'
"""

from __future__ import annotations

from collections.abc import Mapping

from shapewright.dims.expression import (
    Absolute,
    Clamped,
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
    number,
    total,
)
from shapewright.dims.rounding import divided, parts_of, shifted
from shapewright.dims.several import Least, Most, Product, least, most, product


def on_multiples(formula: Expression, steps: Mapping[str, int]) -> Expression:
    """The formula where each letter is a multiple of its step."""
    match formula:
        case Total(terms, constant):
            short: list[tuple[Expression | int, int]] = [(constant, 1)]
            short += [(on_multiples(term, steps), factor) for term, factor in terms]
            return _gathered(shifted(total(short), 0), steps)
        case Quotient(over, divisor):
            inner = on_multiples(over, steps)
            whole = _within(inner, divisor, steps)
            return divided(inner, divisor) if whole is None else whole
        case Remainder(over, divisor):
            inner = on_multiples(over, steps)
            parts, beside = parts_of(inner)
            if all(own * _step(each, steps) % divisor == 0 for each, own in parts):
                return number(beside % divisor)
            return inner % divisor
        case Product(factors):
            return product([on_multiples(each, steps) for each in factors])
        case Clamped(over, low, high):
            return Clamped(on_multiples(over, steps), low, high)
        case Absolute(over):
            return Absolute(on_multiples(over, steps))
        case Least(some):
            return least([on_multiples(each, steps) for each in some])
        case Most(some):
            return most([on_multiples(each, steps) for each in some])
    return formula


def _gathered(formula: Expression, steps: Mapping[str, int]) -> Expression:
    """`2*(H//2)` as `H`, where the division leaves nothing."""
    terms, constant = parts_of(formula)
    made: list[tuple[Expression | int, int]] = [(constant, 1)]
    for term, factor in terms:
        if isinstance(term, Quotient) and factor % term.divisor == 0:
            inner, beside = parts_of(term.over)
            if beside == 0 and all(
                own * _step(each, steps) % term.divisor == 0 for each, own in inner
            ):
                made.append((term.over, factor // term.divisor))
                continue
        made.append((term, factor))
    return shifted(total(made), 0)


def _within(
    over: Expression, divisor: int, steps: Mapping[str, int]
) -> Expression | None:
    """A division whose number beside the letters does not count: `(H + 3)//4`."""
    terms, constant = parts_of(over)
    if not terms or constant == 0:
        return None
    if all(factor * _step(term, steps) % divisor == 0 for term, factor in terms):
        return shifted(divided(over - constant, divisor), constant // divisor)
    return None


def _step(term: Expression, steps: Mapping[str, int]) -> int:
    """A number that a term is a multiple of."""
    if isinstance(term, Letter):
        return steps.get(term.name, 1)
    if isinstance(term, Product):
        whole = 1
        for factor in term.factors:
            whole *= _step(factor, steps)
        return whole
    if isinstance(term, Quotient):
        inner, constant = parts_of(term.over)
        if constant == 0 and len(inner) == 1:
            step = inner[0][1] * _step(inner[0][0], steps)
            return step // term.divisor if step % term.divisor == 0 else 1
    return 1
