"""The sizes at which a comparison comes out the other way: an oracle for guards."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from shapewright.record.guards import (
    Applied,
    Expression,
    Guard,
    SizeRead,
    evaluate_expression,
    evaluate_guard,
    iter_reads,
)

SCANNED = 2048
"""Sizes that are tried one by one, where a side is no straight line: the first ones,
and as many about the size that the program had."""
FARTHEST = 1 << 24
"""Beyond those only powers of two are tried, up to here."""
MOST = 8
"""Thresholds that are told, the nearest ones: ``% 8`` has no end of them."""

Line = tuple[Fraction, Fraction]


def thresholds(guard: Guard) -> dict[SizeRead, tuple[int, ...]]:
    """For each read, the sizes at which the outcome changes if only it varies.

    A size c is told where the outcome at c is another than at c - 1, with c at least
    1: ``T <= 512`` changes at 513, ``H % 8 == 0`` at 24, 25, 32, 33 and so on. Exact
    where the read stands in sums and products with numbers; else the sizes up to 2048
    and those about its own were tried, and farther ones by powers of two.

        >>> read = Read(tensor=1, dim=1, value=16)
        >>> thresholds(Guard(read, "<=", 512, True, None))
        {Read(tensor=1, dim=1, value=16): (513,)}
    """
    return {read: changes(guard, read) for read in iter_reads(guard.left, guard.right)}


def changes(guard: Guard, read: SizeRead) -> tuple[int, ...]:
    """The thresholds of one read, the others as they are; at most 8, the nearest."""
    outcomes: dict[int, bool | None] = {}

    def outcome(size: int) -> bool | None:
        if size not in outcomes:
            outcomes[size] = outcome_at(guard, read, size)
        return outcomes[size]

    left, right = line(guard.left, read), line(guard.right, read)
    if left is not None and right is not None:
        around = crossing(left, right)
        return tuple(c for c in around if changed(outcome(c - 1), outcome(c)))
    near = range(max(1, read.value - SCANNED // 2), read.value + SCANNED // 2)
    tried = sorted({*range(1, SCANNED + 1), *near})
    found = [c for c in tried if changed(outcome(c - 1), outcome(c))]
    found += far(outcome, SCANNED) if len(found) <= MOST else []
    nearest = sorted(found, key=lambda c: abs(c - read.value))[:MOST]
    return tuple(sorted(set(nearest)))


def crossing(left: Line, right: Line) -> range:
    """The sizes about which two straight lines cross."""
    slope, offset = left[0] - right[0], left[1] - right[1]
    if not slope:
        return range(0)
    middle = int(-offset // slope)
    return range(max(1, middle - 1), middle + 4)


def changed(before: bool | None, now: bool | None) -> bool:
    """Whether both are known and differ."""
    return before is not None and now is not None and before is not now


def outcome_at(guard: Guard, read: SizeRead, size: int) -> bool | None:
    """How it comes out at this size; None where Python can't tell (``7 // 0``)."""
    try:
        return evaluate_guard(guard, {read: size})
    except (ArithmeticError, ValueError, TypeError):
        return None


def far(outcome: Callable[[int], bool | None], last: int) -> list[int]:
    """A change beyond the sizes that were tried one by one, found by halving."""
    low, high = last, 2 * last
    while high <= FARTHEST:
        if changed(outcome(low), outcome(high)):
            while high - low > 1:
                middle = (low + high) // 2
                if outcome(middle) is outcome(low):
                    low = middle
                else:
                    high = middle
            return [high]
        low, high = high, 2 * high
    return []


def line(expression: Expression, read: SizeRead) -> Line | None:
    """Slope and offset, where the expression is a straight line in one read."""
    if expression == read:
        return Fraction(1), Fraction(0)
    if read not in iter_reads(expression):
        try:
            return Fraction(0), Fraction(evaluate_expression(expression, {}))
        except (ArithmeticError, ValueError, TypeError):  # infinity, among others
            return None
    assert isinstance(expression, Applied)
    parts = [line(part, read) for part in expression.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return combined(expression.operator, known)


def combined(operator: str, parts: list[Line]) -> Line | None:
    """Two straight lines added, subtracted, or one of them scaled."""
    slope, offset = parts[0]
    if operator == "-" and len(parts) == 1:
        return -slope, -offset
    if len(parts) != 2:
        return None
    other, shift = parts[1]
    if operator in ("+", "-"):
        sign = 1 if operator == "+" else -1
        return slope + sign * other, offset + sign * shift
    if operator == "*" and not (slope and other):
        return slope * shift + other * offset, offset * shift
    if operator == "/" and not other and shift:
        return slope / shift, offset / shift
    return None
