"""Whether demands on sizes are what a program demands: no less, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shapewright.dims.condition import Condition
from shapewright.dims.ladder import Ladder, Ladders
from shapewright.solving.exploring import Explorer, at
from shapewright.solving.regions import Region, narrowed, region
from shapewright.trace.proof import PROVEN, REFUTED, UNDECIDED, Statement
from shapewright.trace.record import Trace

LEAST_HIGH = 64
"""Demands are looked at for all sizes from 1 to this at least."""


class Demanding:
    """Demands, held against symbolic runs that end and such that are refused."""

    def __init__(self, explorer: Explorer, trace: Trace) -> None:
        checked = trace.formulas.letters if trace.formulas is not None else {}
        self.explorer = explorer
        self.ladders: Ladders = {
            name: Ladder(1, max(LEAST_HIGH, checked[name].high if checked else 1))
            for name in explorer.feeding.free
        }
        usual = {**explorer.feeding.letters, **trace.letters}
        self.base = {name: usual[name] for name in self.ladders}
        found = (region(run, self.ladders) for run in explorer.runs)
        self.regions: list[Region] = [each for each in found if each is not None]
        ladders = self.ladders.items()
        self.extent = "for " + ", ".join(each.text(name) for name, each in ladders)

    def statements(self, demands: Sequence[Condition]) -> list[Statement]:
        """One for each demand, and one that there are no others."""
        found = [self.needed(each) for each in demands]
        return [*found, self.enough(demands)]

    def needed(self, demand: Condition) -> Statement:
        """Whether the program refuses all sizes that do not satisfy a demand."""
        against = Opposite(demand)
        left = self.explorer.explore(self.ladders, self.base, self.regions, against)
        for where in self.regions:
            if not where.done:
                continue
            decision = where.everywhere(demand)
            sizes = {**self.base, **(decision.at or {})}
            if decision.holds is None:
                left = left or "too many sizes to look at each"
            elif not decision.holds and self.explorer.plain(sizes).accepted:
                return Statement(str(demand), "", REFUTED, "taken there", sizes)
            elif not decision.holds:
                left = f"torch's symbolic run differs at {at(sizes)}"
        if left:
            return Statement(str(demand), "", UNDECIDED, left)
        return Statement(str(demand), "", PROVEN, self.extent)

    def enough(self, demands: Sequence[Condition]) -> Statement:
        """Whether the program takes all sizes that satisfy the demands."""
        text = "no other demand"
        ladders = dict(self.ladders)
        rest = Together(tuple(e for e in demands if not narrowed(ladders, e)))
        if any(not each.count for each in ladders.values()):
            return Statement(text, "", UNDECIDED, "no sizes satisfy the demands")
        made = (region(run, ladders) for run in self.explorer.runs)
        regions = [each for each in made if each is not None]
        base = dict(self.base)
        base |= {n: e.low for n, e in ladders.items() if not e.holds(base[n])}
        left = self.explorer.explore(ladders, base, regions, rest)
        for where in regions:
            if where.done:
                continue
            decision = where.everywhere(Opposite(rest))
            if decision.holds is None:
                left = left or "too many sizes to look at each"
            elif not decision.holds:
                sizes = {**base, **(decision.at or {})}
                if not self.explorer.plain(sizes).accepted:
                    said = where.run.refused or ""
                    return Statement(text, "", REFUTED, said, sizes)
                left = f"torch's symbolic run differs at {at(sizes)}"
        if left:
            return Statement(text, "", UNDECIDED, left)
        return Statement(text, "", PROVEN, self.extent)


@dataclass(frozen=True, slots=True)
class Opposite:
    """What a condition of any kind excludes."""

    of: Condition

    @property
    def parts(self) -> tuple[Condition, ...]:
        """What it is put together from."""
        return (self.of,)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return not self.of.holds(sizes)

    def letters(self) -> frozenset[str]:
        return self.of.letters()


@dataclass(frozen=True, slots=True)
class Together:
    """All of some conditions of any kind."""

    parts: tuple[Condition, ...]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return all(each.holds(sizes) for each in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.letters() for each in self.parts))
