"""The sizes that a statement is about: from a least one, in steps, to a greatest or on.

>>> Ladder(16, 64, 16).text("H"), Ladder(1).text("B")
('H in 16, 32 .. 64', 'B >= 1')
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod


@dataclass(frozen=True, slots=True)
class Ladder:
    """Sizes `low`, `low + step`, ... up to `high`; without one they never end."""

    low: int
    high: int | None = None
    step: int = 1

    @property
    def count(self) -> int | None:
        """How many sizes there are; None where they never end."""
        if self.high is None:
            return None
        return max(0, (self.high - self.low) // self.step + 1)

    @property
    def endless(self) -> Ladder:
        """The same sizes, and on."""
        return replace(self, high=None)

    def first(self, count: int) -> range:
        """The first sizes, those above `high` as well."""
        return range(self.low, self.low + count * self.step, self.step)

    def holds(self, size: int) -> bool:
        """Whether it is one of them."""
        above = self.high is not None and size > self.high
        return size >= self.low and not above and (size - self.low) % self.step == 0

    def text(self, letter: str) -> str:
        """``H in 16, 32 .. 64``, ``1 <= T <= 64``, ``B >= 2``, ``B = 1``."""
        if self.low == self.high:
            return f"{letter} = {self.low}"
        if self.step > 1:
            end = "..." if self.high is None else f".. {self.high}"
            return f"{letter} in {self.low}, {self.low + self.step} {end}"
        if self.high is None:
            return f"{letter} >= {self.low}"
        return f"{self.low} <= {letter} <= {self.high}"


Ladders = Mapping[str, Ladder]


def counted(ladders: Ladders, letters: frozenset[str]) -> int | None:
    """How many points some letters have; None for endlessly many."""
    counts = [ladders[name].count for name in letters]
    return None if None in counts else prod(each for each in counts if each is not None)


def points(ladders: Ladders, letters: frozenset[str]) -> Iterator[dict[str, int]]:
    """Every point of some letters, each of which has a greatest size."""
    names = sorted(letters)
    ranges = [ladders[name].first(ladders[name].count or 0) for name in names]
    for sizes in itertools.product(*ranges):
        yield dict(zip(names, sizes, strict=True))
