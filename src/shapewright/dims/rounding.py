"""Rounded divisions in their shortest form: stacks of them collapse.

>>> from shapewright.dims.expression import Letter
>>> h = Letter("H")
>>> str(divided(divided(h - 4, 2) - 4, 2))
'(H - 12)//4'
>>> str(divided(h * 4 + 3, 2))
'2*H + 1'
"""

from __future__ import annotations

from math import gcd

from shapewright.dims.expression import (
    Clamped,
    Expression,
    Letter,
    Quotient,
    Total,
    number,
    total,
)


def divided(over: Expression, divisor: int) -> Expression:
    """`over // divisor`, as short as it gets."""
    if divisor == 1:
        return over
    terms, constant = parts_of(over)
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
        return shifted(divided(reduced, divisor // common), 0)
    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Quotient):
        below = terms[0][0]
        return divided(below.over + constant * below.divisor, below.divisor * divisor)
    return Quotient(over, divisor)


def remaining(over: Expression, divisor: int) -> Expression:
    """`over % divisor`, without the terms that are multiples of it."""
    terms, constant = parts_of(over)
    kept = [(term, factor) for term, factor in terms if factor % divisor]
    if not kept:
        return number(constant % divisor)
    return total([*kept, (constant, 1)]) % divisor


def shifted(over: Expression, step: int) -> Expression:
    """`over + step`, with the step inside a lone division: `(H - 1)//2 + 1`."""
    terms, constant = parts_of(over)
    constant += step
    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Quotient):
        below = terms[0][0]
        if constant:
            return Quotient(below.over + constant * below.divisor, below.divisor)
        return below
    return total([*terms, (constant, 1)])


def parts_of(over: Expression) -> tuple[list[tuple[Expression, int]], int]:
    """Terms with factors, and the number that stands beside them."""
    if isinstance(over, Total):
        return list(over.terms), over.constant
    return [(over, 1)], 0


def is_rounded(formula: Expression) -> bool:
    """Whether a formula is more than sums and products of letters."""
    if isinstance(formula, Total):
        return any(is_rounded(term) for term, _ in formula.terms)
    factors = getattr(formula, "factors", None)
    if factors is not None:
        return any(map(is_rounded, factors))
    return not isinstance(formula, Letter)


def clamped(over: Expression, low: int | None, high: int | None) -> Expression:
    """At least `low`, at most `high`; one bound on another is the tighter one."""
    if isinstance(over, Clamped):
        if low is None and over.low is None and high is not None:
            high = high if over.high is None else min(high, over.high)
            return Clamped(over.over, None, high)
        if high is None and over.high is None and low is not None:
            low = low if over.low is None else max(low, over.low)
            return Clamped(over.over, low, None)
    return Clamped(over, low, high)
