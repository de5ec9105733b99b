"""Conditions on sizes, compared and joined: what a run took for granted.

>>> from shapewright.dims.reading import read
>>> condition = Compared(read("H//2"), ">=", read("5"))
>>> str(condition), condition.holds({"H": 9})
('H//2 >= 5', False)
>>> always(condition, {"H": Ladder(10)}).holds
True
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Protocol

from shapewright.dims.bounds import bounds, settled
from shapewright.dims.deciding import WORK, Decision, Pattern, equal, pattern
from shapewright.dims.expression import Expression
from shapewright.dims.ladder import Ladder, Ladders, counted, points

RELATIONS = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
    "<=": operator.le, "<": operator.lt,
}  # fmt: skip
OPPOSITE = {"==": "!=", "!=": "==", ">=": "<", "<": ">=", ">": "<=", "<=": ">"}



class Condition(Protocol):
    """A condition on sizes; `str` of it is a condition of Python."""

    def holds(self, sizes: Mapping[str, int], /) -> bool:
        """Whether sizes satisfy it."""

    def letters(self) -> frozenset[str]:
        """The letters that it is about."""


@dataclass(frozen=True, slots=True)
class Compared:
    """`one >= two`, or another of the six relations."""

    one: Expression
    relation: str
    two: Expression

    def holds(self, sizes: Mapping[str, int]) -> bool:
        one, two = self.one.value(sizes), self.two.value(sizes)
        return bool(RELATIONS[self.relation](one, two))

    def letters(self) -> frozenset[str]:
        return self.one.letters() | self.two.letters()

    def __str__(self) -> str:
        return f"{self.one} {self.relation} {self.two}"


@dataclass(frozen=True, slots=True)
class Every:
    """All of some conditions."""

    parts: tuple[Condition, ...]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return all(part.holds(sizes) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(_inner(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of some conditions."""

    parts: tuple[Condition, ...]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return any(part.holds(sizes) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(_inner(part) for part in self.parts)


def _inner(part: Condition) -> str:
    return f"({part})" if isinstance(part, Every | Some) else str(part)


def denied(condition: Condition) -> Condition:
    """The opposite. Raises `TypeError` for a condition of another kind."""
    match condition:
        case Compared(one, relation, two):
            return Compared(one, OPPOSITE[relation], two)
        case Every(parts):
            return Some(tuple(map(denied, parts)))
        case Some(parts):
            return Every(tuple(map(denied, parts)))
    raise TypeError(condition)


def always(condition: Condition, ladders: Ladders) -> Decision:
    """Whether a condition holds at all sizes; False comes with sizes where not."""
    match condition:
        case Compared(one, "==", two):
            found = equal(one, two, ladders)
        case Compared(one, relation, two):
            found = _apart(one, relation, two, ladders)
        case Every(parts):
            return _all([always(part, ladders) for part in parts])
        case Some(parts):
            any_ = any(always(part, ladders).holds for part in parts)
            found = Decision(True if any_ else None)
        case _:
            found = Decision(None)
    return found if found.holds is not None else one_by_one(condition, ladders)


def _all(parts: list[Decision]) -> Decision:
    failed = next((each for each in parts if each.holds is False), None)
    if failed is not None:
        return failed
    return Decision(None if any(each.holds is None for each in parts) else True)


def one_by_one(condition: Condition, ladders: Ladders) -> Decision:
    """Every size tried, where they are not too many."""
    letters = condition.letters()
    whole = counted(ladders, letters)
    if whole is None or whole > WORK:
        return Decision(None)
    for sizes in points(ladders, letters):
        if not condition.holds(sizes):
            return Decision(False, sizes)
    return Decision(True)


def _apart(
    one: Expression, relation: str, two: Expression, ladders: Ladders
) -> Decision:
    """An inequality by the bounds of the difference, or by its slope."""
    difference = settled(one, ladders) - settled(two, ladders)
    if relation in ("<", "<="):
        difference, relation = -difference, ">" if relation == "<" else ">="
    low, high = bounds(difference, ladders)
    if relation == "!=":
        above = low is not None and low > 0
        return Decision(True if above or (high is not None and high < 0) else None)
    least = 1 if relation == ">" else 0
    if low is not None and low >= least:
        return Decision(True)
    return Decision(True if _rising_from(difference, least, ladders) else None)


def _rising_from(difference: Expression, least: int, ladders: Ladders) -> bool:
    """Whether a formula of one letter begins high enough and never falls.

    It is linear on every residue of its period, so one period and the next tell.
    """
    found = pattern(difference, frozenset())
    if not isinstance(found, Pattern) or len(found.letters) != 1:
        return False
    ((name, (degree, period)),) = found.letters.items()
    ladder = ladders[name]
    steps = period // gcd(period, ladder.step)
    if degree > 1 or 2 * steps > WORK:
        return False
    values = [difference.value({name: size}) for size in ladder.first(2 * steps)]
    rising = all(b >= a for a, b in zip(values, values[steps:], strict=False))
    return rising and min(values[:steps]) >= least
