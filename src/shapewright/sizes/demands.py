"""Demands on sizes, as conditions on formulas: equal, at least, a multiple.

>>> from shapewright.sizes.expressions import Letter
>>> demand = Multiple(Letter("H"), 16)
>>> str(demand), demand.holds({"H": 64}), demand.holds({"H": 65})
('H % 16 == 0', True, False)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

from shapewright.sizes.expressions import Expression, add_brackets

Sizes = Mapping[str, int]


class Demand:
    """A condition on sizes; its `str` is a Python expression."""

    __slots__ = ()

    def holds(self, sizes: Sizes) -> bool:
        """Return whether sizes satisfy it."""
        raise NotImplementedError

    def letters(self) -> frozenset[str]:
        """Return the letters that occur in it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Always(Demand):
    """The demand that always holds."""

    def holds(self, sizes: Sizes) -> bool:
        return True

    def letters(self) -> frozenset[str]:
        return frozenset()

    def __str__(self) -> str:
        return "True"


@dataclass(frozen=True, slots=True)
class AtLeast(Demand):
    """`size >= bound`."""

    size: Expression
    bound: int

    def holds(self, sizes: Sizes) -> bool:
        return self.size.value(sizes) >= self.bound

    def letters(self) -> frozenset[str]:
        return self.size.letters()

    def __str__(self) -> str:
        return f"{self.size} >= {self.bound}"


@dataclass(frozen=True, slots=True)
class SizeAtMost(Demand):
    """`size <= bound`."""

    size: Expression
    bound: int

    def holds(self, sizes: Sizes) -> bool:
        return self.size.value(sizes) <= self.bound

    def letters(self) -> frozenset[str]:
        return self.size.letters()

    def __str__(self) -> str:
        return f"{self.size} <= {self.bound}"


@dataclass(frozen=True, slots=True)
class Between(Demand):
    """`low <= size <= high`."""

    size: Expression
    low: int
    high: int

    def holds(self, sizes: Sizes) -> bool:
        return self.low <= self.size.value(sizes) <= self.high

    def letters(self) -> frozenset[str]:
        return self.size.letters()

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.size} == {self.low}"
        return f"{self.low} <= {self.size} <= {self.high}"


@dataclass(frozen=True, slots=True)
class Multiple(Demand):
    """`size % divisor == rest`."""

    size: Expression
    divisor: int
    rest: int = 0

    def holds(self, sizes: Sizes) -> bool:
        return self.size.value(sizes) % self.divisor == self.rest

    def letters(self) -> frozenset[str]:
        return self.size.letters()

    def __str__(self) -> str:
        return f"{add_brackets(self.size)} % {self.divisor} == {self.rest}"


@dataclass(frozen=True, slots=True)
class EqualSizes(Demand):
    """`one == two`."""

    one: Expression
    two: Expression

    def holds(self, sizes: Sizes) -> bool:
        return self.one.value(sizes) == self.two.value(sizes)

    def letters(self) -> frozenset[str]:
        return self.one.letters() | self.two.letters()

    def __str__(self) -> str:
        return f"{self.one} == {self.two}"


@dataclass(frozen=True, slots=True)
class NoMore(Demand):
    """`one <= two`."""

    one: Expression
    two: Expression

    def holds(self, sizes: Sizes) -> bool:
        return self.one.value(sizes) <= self.two.value(sizes)

    def letters(self) -> frozenset[str]:
        return self.one.letters() | self.two.letters()

    def __str__(self) -> str:
        return f"{self.one} <= {self.two}"


@dataclass(frozen=True, slots=True)
class Fits(Demand):
    """`one` equals `two`, or one of them is 1: they broadcast."""

    one: Expression
    two: Expression

    def holds(self, sizes: Sizes) -> bool:
        a, b = self.one.value(sizes), self.two.value(sizes)
        return a == b or a == 1 or b == 1

    def letters(self) -> frozenset[str]:
        return self.one.letters() | self.two.letters()

    def __str__(self) -> str:
        sides = [f"{side} == 1" for side in (self.one, self.two) if side.letters()]
        return " or ".join([f"{self.one} == {self.two}", *sides])


@dataclass(frozen=True, slots=True)
class Divides(Demand):
    """`whole % part == 0`."""

    whole: Expression
    part: Expression

    def holds(self, sizes: Sizes) -> bool:
        part = self.part.value(sizes)
        return part != 0 and self.whole.value(sizes) % part == 0

    def letters(self) -> frozenset[str]:
        return self.whole.letters() | self.part.letters()

    def __str__(self) -> str:
        return f"{add_brackets(self.whole)} % {add_brackets(self.part)} == 0"


@dataclass(frozen=True, slots=True)
class Square(Demand):
    """`size` is a square number."""

    size: Expression

    def holds(self, sizes: Sizes) -> bool:
        number = self.size.value(sizes)
        return number >= 0 and isqrt(number) ** 2 == number

    def letters(self) -> frozenset[str]:
        return self.size.letters()

    def __str__(self) -> str:
        return f"isqrt({self.size})**2 == {self.size}"


@dataclass(frozen=True, slots=True)
class Both(Demand):
    """The conjunction of two or more demands."""

    parts: tuple[Demand, ...]

    def holds(self, sizes: Sizes) -> bool:
        return all(part.holds(sizes) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(
            f"({part})" if isinstance(part, Fits) else str(part) for part in self.parts
        )
