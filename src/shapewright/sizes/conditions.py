"""Conditions on sizes, and whether two formulas are equal at all sizes.

A formula of letters, numbers, `+ - *`, `//` and `%` by numbers is a polynomial in each
letter on every residue of some period: `(H + 1)//2` is on even and on odd H. Two
polynomials of degree d that agree at d + 1 sizes agree everywhere; so two such formulas
that agree at (d + 1) * period sizes of each letter, one after the other, are equal at
all sizes. What is no such formula, `min(T, 40)`, is compared size by size as far as the
sizes are counted.

>>> from shapewright.sizes.expressions import read
>>> from shapewright.sizes.ranges import Ladder
>>> sizes = {"H": Ladder(1)}
>>> compare_formulas(read("(H//2 - 1)//2"), read("(H - 2)//4"), sizes)
Decision(holds=True, at=None)
>>> compare_formulas(read("(H + 1)//2"), read("H//2"), sizes)
Decision(holds=False, at={'H': 1})

>>> from shapewright.sizes.expressions import read
>>> condition = Compared(read("H//2"), ">=", read("5"))
>>> str(condition), condition.holds({"H": 9})
('H//2 >= 5', False)
>>> decide_condition(condition, {"H": Ladder(10)}).holds
True
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd, lcm, prod
from typing import Protocol

from shapewright.sizes.expressions import (
    Expression,
    Letter,
    Product,
    Quotient,
    Remainder,
    Total,
)
from shapewright.sizes.ranges import (
    Ladders,
    count_points,
    find_bounds,
    iter_points,
    settle_choices,
)

WORK = 250_000
"""Largest number of points at which two formulas are compared."""

PROBES, FAR = 500, 1_000
"""Points tried if there are too many; sizes per letter they are drawn from."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something holds at all sizes, and sizes at which it does not; None if
    undecided.
    """

    holds: bool | None
    at: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The polynomials that a formula is on the residues of its letters.

    Each letter has a degree and a period; the polynomials have whole coefficients once
    they are multiplied by `denominator`.
    """

    letters: Mapping[str, tuple[int, int]]
    denominator: int = 1

    def divided(self, divisor: int) -> _Pattern:
        """Return the pattern of the formula's floor division by `divisor`."""
        modulus = self.denominator * divisor
        letters = {n: (d, lcm(p, modulus)) for n, (d, p) in self.letters.items()}
        return _Pattern(letters, modulus)

    def rest(self, divisor: int) -> _Pattern:
        """Return the pattern of the formula's remainder by `divisor`."""
        modulus = self.denominator * divisor
        return _Pattern({n: (0, lcm(p, modulus)) for n, (_, p) in self.letters.items()})


def _find_pattern(
    formula: Expression, fixed: frozenset[str]
) -> _Pattern | frozenset[str]:
    """Return the pattern of a formula, or the letters to hold fixed first if it has
    none.
    """
    if formula.letters() <= fixed:
        return _Pattern({})
    match formula:
        case Letter(name):
            return _Pattern({name: (1, 1)})
        case Total(terms):
            return _join_parts(
                [_find_pattern(term, fixed) for term, _ in terms], added=True
            )
        case Product(factors):
            return _join_parts(
                [_find_pattern(factor, fixed) for factor in factors], added=False
            )
        case Quotient(over, divisor) if divisor > 0:
            inner = _find_pattern(over, fixed)
            return inner.divided(divisor) if isinstance(inner, _Pattern) else inner
        case Remainder(over, divisor) if divisor > 0:
            inner = _find_pattern(over, fixed)
            return inner.rest(divisor) if isinstance(inner, _Pattern) else inner
    return formula.letters()


def _join_parts(
    parts: list[_Pattern | frozenset[str]], *, added: bool
) -> _Pattern | frozenset[str]:
    unruly = frozenset[str]().union(*(p for p in parts if not isinstance(p, _Pattern)))
    if unruly:
        return unruly
    known = [part for part in parts if isinstance(part, _Pattern)]
    letters: dict[str, tuple[int, int]] = {}
    for part in known:
        for name, (degree, period) in part.letters.items():
            before, other = letters.get(name, (0, 1))
            both = max(before, degree) if added else before + degree
            letters[name] = both, lcm(other, period)
    under = [part.denominator for part in known]
    return _Pattern(letters, lcm(*under) if added else prod(under))


def compare_formulas(left: Expression, right: Expression, ladders: Ladders) -> Decision:
    """Whether two formulas are equal at all sizes of their letters.

    False comes with sizes at which they differ; None where that would be more work
    than `WORK` points, or endless.
    """
    difference = settle_choices(left, ladders) - settle_choices(right, ladders)
    letters = difference.letters()
    if not letters:
        differ = difference.value({}) != 0
        low = {name: ladders[name].low for name in left.letters() | right.letters()}
        return Decision(not differ, low if differ else None)
    whole = count_points(ladders, letters)
    few = _find_enough_sizes(difference, ladders)
    if few is None or (whole is not None and whole <= prod(map(len, few.values()))):
        if whole is None or whole > WORK:
            return _probe_points(difference, ladders)
        return _compare_points(difference, iter_points(ladders, letters), ladders)
    if prod(map(len, few.values())) > WORK:
        return _probe_points(difference, ladders)
    decision = _compare_points(difference, _build_grid(few), ladders)
    if decision.holds is None and whole is not None and whole <= WORK:
        return _compare_points(difference, iter_points(ladders, letters), ladders)
    return decision


def _find_enough_sizes(
    difference: Expression, ladders: Ladders
) -> dict[str, range] | None:
    """Return sizes of each letter that decide whether a formula is always 0."""
    fixed = frozenset[str]()
    while not isinstance(pattern := _find_pattern(difference, fixed), _Pattern):
        if any(ladders[name].high is None for name in pattern) or pattern <= fixed:
            return None
        fixed |= pattern
    ranges = {}
    for name in difference.letters():
        ladder = ladders[name]
        if name in fixed:
            ranges[name] = ladder.first(ladder.count or 0)
            continue
        degree, period = pattern.letters.get(name, (0, 1))
        steps = period // gcd(period, ladder.step)
        ranges[name] = ladder.first((degree + 1) * steps)
    return ranges


def _build_grid(ranges: Mapping[str, range]) -> Iterator[dict[str, int]]:
    for sizes in product(*ranges.values()):
        yield dict(zip(ranges, sizes, strict=True))


def _probe_points(difference: Expression, ladders: Ladders) -> Decision:
    """Compare a sample of the points if they are too many: one difference decides."""
    draw = random.Random(0)
    for _ in range(PROBES):
        sizes = {}
        for name in sorted(difference.letters()):
            ladder = ladders[name]
            sizes[name] = draw.choice(ladder.first(min(ladder.count or FAR, FAR)))
        if difference.value(sizes):
            return Decision(False, sizes)
    return Decision(None)


def _compare_points(
    difference: Expression, tried: Iterator[dict[str, int]], ladders: Ladders
) -> Decision:
    """Decide from points; a difference beyond the greatest size does not count."""
    beyond = False
    for sizes in tried:
        if difference.value(sizes):
            if all(ladders[name].holds(size) for name, size in sizes.items()):
                return Decision(False, sizes)
            beyond = True
    return Decision(None if beyond else True)


RELATIONS = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
    "<=": operator.le, "<": operator.lt,
}  # fmt: skip
OPPOSITE = {"==": "!=", "!=": "==", ">=": "<", "<": ">=", ">": "<=", "<=": ">"}


class Condition(Protocol):
    """A condition on sizes; its `str` is a Python expression."""

    def holds(self, sizes: Mapping[str, int], /) -> bool:
        """Return whether sizes satisfy it."""

    def letters(self) -> frozenset[str]:
        """Return the letters that occur in it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """`one >= two`, or another of the six relations."""

    one: Expression
    relation: str
    two: Expression

    def holds(self, sizes: Mapping[str, int]) -> bool:
        left, right = self.one.value(sizes), self.two.value(sizes)
        return bool(RELATIONS[self.relation](left, right))

    def letters(self) -> frozenset[str]:
        return self.one.letters() | self.two.letters()

    def __str__(self) -> str:
        return f"{self.one} {self.relation} {self.two}"


@dataclass(frozen=True, slots=True)
class Every:
    """The conjunction of conditions."""

    parts: tuple[Condition, ...]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return all(part.holds(sizes) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(_add_brackets(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Some:
    """The disjunction of conditions."""

    parts: tuple[Condition, ...]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return any(part.holds(sizes) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(_add_brackets(part) for part in self.parts)


def _add_brackets(part: Condition) -> str:
    return f"({part})" if isinstance(part, Every | Some) else str(part)


def negate_condition(condition: Condition) -> Condition:
    """Return the negation. Raises `TypeError` for a condition of another kind."""
    match condition:
        case Compared(left, relation, right):
            return Compared(left, OPPOSITE[relation], right)
        case Every(parts):
            return Some(tuple(map(negate_condition, parts)))
        case Some(parts):
            return Every(tuple(map(negate_condition, parts)))
    raise TypeError(condition)


def decide_condition(condition: Condition, ladders: Ladders) -> Decision:
    """Return whether a condition holds at all sizes, with sizes that violate it if
    not.
    """
    match condition:
        case Compared(left, "==", right):
            decision = compare_formulas(left, right, ladders)
        case Compared(left, relation, right):
            decision = _decide_inequality(left, relation, right, ladders)
        case Every(parts):
            return _join_all([decide_condition(part, ladders) for part in parts])
        case Some(parts):
            any_ = any(decide_condition(part, ladders).holds for part in parts)
            decision = Decision(True if any_ else None)
        case _:
            decision = Decision(None)
    return decision if decision.holds is not None else _try_each(condition, ladders)


def _join_all(parts: list[Decision]) -> Decision:
    failed = next((part for part in parts if part.holds is False), None)
    if failed is not None:
        return failed
    return Decision(None if any(part.holds is None for part in parts) else True)


def _try_each(condition: Condition, ladders: Ladders) -> Decision:
    """Try every size if they are not too many."""
    letters = condition.letters()
    whole = count_points(ladders, letters)
    if whole is None or whole > WORK:
        return Decision(None)
    for sizes in iter_points(ladders, letters):
        if not condition.holds(sizes):
            return Decision(False, sizes)
    return Decision(True)


def _decide_inequality(
    left: Expression, relation: str, right: Expression, ladders: Ladders
) -> Decision:
    """Decide an inequality by the bounds of the difference, or by its slope."""
    difference = settle_choices(left, ladders) - settle_choices(right, ladders)
    if relation in ("<", "<="):
        difference, relation = -difference, ">" if relation == "<" else ">="
    low, high = find_bounds(difference, ladders)
    if relation == "!=":
        above = low is not None and low > 0
        return Decision(True if above or (high is not None and high < 0) else None)
    least = 1 if relation == ">" else 0
    if low is not None and low >= least:
        return Decision(True)
    return Decision(True if _is_rising_from(difference, least, ladders) else None)


def _is_rising_from(difference: Expression, least: int, ladders: Ladders) -> bool:
    """Return whether a formula of one letter starts high enough and never falls.

    It is linear on every residue of its period, so two periods decide.
    """
    pattern = _find_pattern(difference, frozenset())
    if not isinstance(pattern, _Pattern) or len(pattern.letters) != 1:
        return False
    ((name, (degree, period)),) = pattern.letters.items()
    ladder = ladders[name]
    steps = period // gcd(period, ladder.step)
    if degree > 1 or 2 * steps > WORK:
        return False
    values = [difference.value({name: size}) for size in ladder.first(2 * steps)]
    rising = all(b >= a for a, b in zip(values, values[steps:], strict=False))
    return rising and min(values[:steps]) >= least
