"""Ranges of sizes, and the bounds of a formula over them.

>>> from shapewright.sizes.expressions import read
>>> find_bounds(read("(H - 12)//4"), {"H": Ladder(16, 64)})
(1, 13)
>>> str(settle_choices(read("max(H//4, 2)"), {"H": Ladder(16)}))
'H//4'

>>> Ladder(16, 64, 16).text("H"), Ladder(1).text("B")
('H in 16, 32 .. 64', 'B >= 1')
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

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
    number,
    product,
    total,
)
from shapewright.sizes.floor_division import compute_remainder


@dataclass(frozen=True, slots=True)
class Ladder:
    """Sizes `low`, `low + step`, ... up to `high`; without one they never end."""

    low: int
    high: int | None = None
    step: int = 1

    @property
    def count(self) -> int | None:
        """Return the number of sizes; None if they never end."""
        if self.high is None:
            return None
        return max(0, (self.high - self.low) // self.step + 1)

    @property
    def endless(self) -> Ladder:
        """Return the ladder without an upper end."""
        return replace(self, high=None)

    def first(self, count: int) -> range:
        """Return the first sizes, including those above `high`."""
        return range(self.low, self.low + count * self.step, self.step)

    def holds(self, size: int) -> bool:
        """Return whether a size is in the ladder."""
        above = self.high is not None and size > self.high
        return size >= self.low and not above and (size - self.low) % self.step == 0

    def text(self, letter: str) -> str:
        """Return text such as ``H in 16, 32 .. 64``, ``1 <= T <= 64`` or ``B = 1``."""
        if self.low == self.high:
            return f"{letter} = {self.low}"
        if self.step > 1:
            end = "..." if self.high is None else f".. {self.high}"
            return f"{letter} in {self.low}, {self.low + self.step} {end}"
        if self.high is None:
            return f"{letter} >= {self.low}"
        return f"{self.low} <= {letter} <= {self.high}"


Ladders = Mapping[str, Ladder]


def count_points(ladders: Ladders, letters: frozenset[str]) -> int | None:
    """Return the number of points of some letters; None if infinite."""
    counts = [ladders[name].count for name in letters]
    return (
        None if None in counts else prod(count for count in counts if count is not None)
    )


def iter_points(ladders: Ladders, letters: frozenset[str]) -> Iterator[dict[str, int]]:
    """Yield every point of letters that each have a greatest size."""
    names = sorted(letters)
    ranges = [ladders[name].first(ladders[name].count or 0) for name in names]
    for sizes in itertools.product(*ranges):
        yield dict(zip(names, sizes, strict=True))


Bounds = tuple[int | None, int | None]
"""The least and the greatest number; None where there may be none."""

__all__ = ["Bounds", "Ladder", "find_bounds", "settle_choices"]


def find_bounds(formula: Expression, ladders: Ladders) -> Bounds:
    """Return bounds of the formula's values, possibly wider than necessary."""
    match formula:
        case Letter(name):
            ladder = ladders[name]
            return ladder.low, ladder.high
        case Total(terms, constant):
            parts = [
                _multiply_bounds(find_bounds(t, ladders), (own, own))
                for t, own in terms
            ]
            return _add_bounds([(constant, constant), *parts])
        case Product(factors):
            return reduce(
                _multiply_bounds, [find_bounds(factor, ladders) for factor in factors]
            )
        case Quotient(over, divisor) if divisor > 0:
            low, high = find_bounds(over, ladders)
            return (
                None if low is None else low // divisor,
                None if high is None else high // divisor,
            )
        case Remainder(over, divisor) if divisor > 0:
            return _bound_remainder(find_bounds(over, ladders), divisor)
        case Absolute(over):
            low, high = find_bounds(over, ladders)
            if low is not None and low >= 0:
                return low, high
            return 0, None if low is None or high is None else max(-low, high)
        case Clamped(over, least, most):
            bounds = find_bounds(over, ladders)
            if least is not None:
                bounds = _bound_maximum([bounds, (least, least)])
            return bounds if most is None else _bound_minimum([bounds, (most, most)])
        case Least(some):
            return _bound_minimum([find_bounds(part, ladders) for part in some])
        case Most(some):
            return _bound_maximum([find_bounds(part, ladders) for part in some])
    return None, None


def _add_bounds(parts: list[Bounds]) -> Bounds:
    """Return the bounds of a sum."""
    lows = [low for low, _ in parts if low is not None]
    highs = [high for _, high in parts if high is not None]
    return (
        sum(lows) if len(lows) == len(parts) else None,
        sum(highs) if len(highs) == len(parts) else None,
    )


def _bound_remainder(over: Bounds, divisor: int) -> Bounds:
    """Return the bounds of a remainder."""
    low, high = over
    if low is not None and high is not None and low // divisor == high // divisor:
        return low % divisor, high % divisor
    return 0, divisor - 1


def _multiply_bounds(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a product."""
    if None not in left and None not in right:
        ends = [a * b for a in left for b in right if a is not None and b is not None]
        return min(ends), max(ends)
    for few, many in (
        (left, right),
        (right, left),
    ):  # a number in front of an open interval
        if few[0] is not None and few[0] == few[1]:
            factor = few[0]
            low, high = (None if end is None else end * factor for end in many)
            if factor == 0:
                return 0, 0
            return (low, high) if factor > 0 else (high, low)
    low, other = left[0], right[0]
    if low is not None and other is not None and low >= 0 and other >= 0:
        return low * other, None
    return None, None


def _bound_minimum(parts: list[Bounds]) -> Bounds:
    """Return the bounds of a minimum."""
    lows, highs = [a for a, _ in parts], [b for _, b in parts if b is not None]
    known = [low for low in lows if low is not None]
    return (
        min(known) if len(known) == len(lows) else None,
        min(highs) if highs else None,
    )


def _bound_maximum(parts: list[Bounds]) -> Bounds:
    """Return the bounds of a maximum."""
    lows, highs = [a for a, _ in parts if a is not None], [b for _, b in parts]
    known = [high for high in highs if high is not None]
    return (
        max(lows) if lows else None,
        max(known) if len(known) == len(highs) else None,
    )


def settle_choices(formula: Expression, ladders: Ladders) -> Expression:
    """Return the formula without choices that bounds decide, such as `max(H, 1)`."""
    if not formula.letters():
        return number(formula.value({}))
    match formula:
        case Total(terms, constant):
            settled_terms = [
                (settle_choices(term, ladders), factor) for term, factor in terms
            ]
            return total([(constant, 1), *settled_terms])
        case Product(factors):
            return product([settle_choices(factor, ladders) for factor in factors])
        case Quotient(over, divisor):
            return Quotient(settle_choices(over, ladders), divisor)
        case Remainder(over, divisor):
            inner = settle_choices(over, ladders)
            low, high = find_bounds(inner, ladders)
            least = low is not None and low >= 0
            most = high is not None and high < divisor
            return inner if least and most else compute_remainder(inner, divisor)
        case Absolute(over):
            inner = settle_choices(over, ladders)
            low, high = find_bounds(inner, ladders)
            if low is not None and low >= 0:
                return inner
            return -inner if high is not None and high <= 0 else Absolute(inner)
        case Clamped(over, least, most):
            some = [settle_choices(over, ladders)]
            if least is not None:
                some = [_choose_parts([some[0], number(least)], ladders, most=True)]
            if most is not None:
                some = [_choose_parts([some[0], number(most)], ladders, most=False)]
            return some[0]
        case Least(some_):
            inside = [settle_choices(part, ladders) for part in some_]
            return _choose_parts(inside, ladders, most=False)
        case Most(some_):
            inside = [settle_choices(part, ladders) for part in some_]
            return _choose_parts(inside, ladders, most=True)
    return formula


def _choose_parts(
    parts: list[Expression], ladders: Ladders, *, most: bool
) -> Expression:
    """Return the minimum or maximum, without parts that never decide it."""
    kept: list[Expression] = []
    for at, part in enumerate(parts):
        others = [*kept, *parts[at + 1 :]]
        if not any(_is_never_less(other, part, ladders, most) for other in others):
            kept.append(part)
    if len(kept) == 1:
        return kept[0]
    return Most(tuple(kept)) if most else Least(tuple(kept))


def _is_never_less(
    other: Expression, part: Expression, ladders: Ladders, most: bool
) -> bool:
    """Whether another part is always at least as large (or as small)."""
    difference = other - part if most else part - other
    low, _ = find_bounds(difference, ladders)
    return low is not None and low >= 0
