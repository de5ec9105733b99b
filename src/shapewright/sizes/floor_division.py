"""Shortest forms of floor divisions, also for sizes that are multiples of a number.

>>> from shapewright.sizes.expressions import read
>>> str(simplify_multiples(read("2*(H//2) + H//4"), {"H": 4}))
'H + H//4'

>>> from shapewright.sizes.expressions import Letter
>>> h = Letter("H")
>>> str(divide_floor(divide_floor(h - 4, 2) - 4, 2))
'(H - 12)//4'
>>> str(divide_floor(h * 4 + 3, 2))
'2*H + 1'
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

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
    least,
    most,
    number,
    product,
    total,
)


def divide_floor(over: Expression, divisor: int) -> Expression:
    """Return `over // divisor` in its shortest form."""
    if divisor == 1:
        return over
    terms, constant = _split_parts(over)
    if not terms:
        return number(constant // divisor)
    common = gcd(divisor, *(factor for _, factor in terms))
    if common > 1:  # (g*x + c) // (g*d) is (x + c//g) // d
        reduced = total(
            [
                *((term, factor // common) for term, factor in terms),
                (constant // common, 1),
            ]
        )
        return shift_sum(divide_floor(reduced, divisor // common), 0)
    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Quotient):
        below = terms[0][0]
        return divide_floor(
            below.over + constant * below.divisor, below.divisor * divisor
        )
    return Quotient(over, divisor)


def compute_remainder(over: Expression, divisor: int) -> Expression:
    """Return `over % divisor`, without the terms that are multiples of it."""
    terms, constant = _split_parts(over)
    kept = [(term, factor) for term, factor in terms if factor % divisor]
    if not kept:
        return number(constant % divisor)
    return total([*kept, (constant, 1)]) % divisor


def shift_sum(over: Expression, step: int) -> Expression:
    """Return `over + step`, with the step inside a lone division: `(H - 1)//2 + 1`."""
    terms, constant = _split_parts(over)
    constant += step
    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Quotient):
        below = terms[0][0]
        if constant:
            return Quotient(below.over + constant * below.divisor, below.divisor)
        return below
    return total([*terms, (constant, 1)])


def _split_parts(over: Expression) -> tuple[list[tuple[Expression, int]], int]:
    """Return the terms with their factors, and the constant."""
    if isinstance(over, Total):
        return list(over.terms), over.constant
    return [(over, 1)], 0


def is_rounded(formula: Expression) -> bool:
    """Return whether a formula is more than sums and products of letters."""
    if isinstance(formula, Total):
        return any(is_rounded(term) for term, _ in formula.terms)
    factors = getattr(formula, "factors", None)
    if factors is not None:
        return any(map(is_rounded, factors))
    return not isinstance(formula, Letter)


def clamp_formula(over: Expression, low: int | None, high: int | None) -> Expression:
    """Clamp to at least `low` and at most `high`; nested bounds become the tighter."""
    if isinstance(over, Clamped):
        if low is None and over.low is None and high is not None:
            high = high if over.high is None else min(high, over.high)
            return Clamped(over.over, None, high)
        if high is None and over.high is None and low is not None:
            low = low if over.low is None else max(low, over.low)
            return Clamped(over.over, low, None)
    return Clamped(over, low, high)


def simplify_multiples(formula: Expression, steps: Mapping[str, int]) -> Expression:
    """Simplify a formula in which each letter is a multiple of its step."""
    match formula:
        case Total(terms, constant):
            short: list[tuple[Expression | int, int]] = [(constant, 1)]
            short += [
                (simplify_multiples(term, steps), factor) for term, factor in terms
            ]
            return _gather_division(shift_sum(total(short), 0), steps)
        case Quotient(over, divisor):
            inner = simplify_multiples(over, steps)
            whole = _drop_constant(inner, divisor, steps)
            return divide_floor(inner, divisor) if whole is None else whole
        case Remainder(over, divisor):
            inner = simplify_multiples(over, steps)
            parts, beside = _split_parts(inner)
            if all(own * _find_step(part, steps) % divisor == 0 for part, own in parts):
                return number(beside % divisor)
            return inner % divisor
        case Product(factors):
            return product([simplify_multiples(factor, steps) for factor in factors])
        case Clamped(over, low, high):
            return Clamped(simplify_multiples(over, steps), low, high)
        case Absolute(over):
            return Absolute(simplify_multiples(over, steps))
        case Least(some):
            return least([simplify_multiples(part, steps) for part in some])
        case Most(some):
            return most([simplify_multiples(part, steps) for part in some])
    return formula


def _gather_division(formula: Expression, steps: Mapping[str, int]) -> Expression:
    """Write `2*(H//2)` as `H` if the division is exact."""
    terms, constant = _split_parts(formula)
    gathered_terms: list[tuple[Expression | int, int]] = [(constant, 1)]
    for term, factor in terms:
        if isinstance(term, Quotient) and factor % term.divisor == 0:
            inner, beside = _split_parts(term.over)
            if beside == 0 and all(
                own * _find_step(part, steps) % term.divisor == 0 for part, own in inner
            ):
                gathered_terms.append((term.over, factor // term.divisor))
                continue
        gathered_terms.append((term, factor))
    return shift_sum(total(gathered_terms), 0)


def _drop_constant(
    over: Expression, divisor: int, steps: Mapping[str, int]
) -> Expression | None:
    """Simplify a division whose constant has no effect: `(H + 3)//4`."""
    terms, constant = _split_parts(over)
    if not terms or constant == 0:
        return None
    if all(factor * _find_step(term, steps) % divisor == 0 for term, factor in terms):
        return shift_sum(divide_floor(over - constant, divisor), constant // divisor)
    return None


def _find_step(term: Expression, steps: Mapping[str, int]) -> int:
    """Return a number of which a term is a multiple."""
    if isinstance(term, Letter):
        return steps.get(term.name, 1)
    if isinstance(term, Product):
        whole = 1
        for factor in term.factors:
            whole *= _find_step(factor, steps)
        return whole
    if isinstance(term, Quotient):
        inner, constant = _split_parts(term.over)
        if constant == 0 and len(inner) == 1:
            step = inner[0][1] * _find_step(inner[0][0], steps)
            return step // term.divisor if step % term.divisor == 0 else 1
    return 1
