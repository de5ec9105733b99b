"""Find the sizes that a program accepts: learn demands from runs, and check them with
more runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from typing import Any

from shapewright.commands.solve.sample_sizes import is_batch, iter_edge_sizes
from shapewright.commands.solve.size_trials import (
    Refusal,
    RefusedSizes,
    Trial,
    Trials,
    fit_refused_call,
)
from shapewright.sizes.demand_search import SizeEvidence, find_demands
from shapewright.sizes.demands import Always, Both, Demand, EqualSizes, Fits, Square

MOST = 150
"""Runs for one or two letters; each letter more has half as many again."""

KEPT = 8
"""Demands of a place that are still compared with each other."""

CALM = 24
"""Runs in a row that came out as expected, before the demands are believed."""

SOON = 4
"""Runs after which a demand that is alone is held against new ones."""

HELD = 90
"""Runs for each letter at the edges of the demands."""

SURPRISES = 16
"""Runs at edges that came out otherwise, before nothing is claimed."""

AGAIN = 24
"""Runs that tell new demands apart, after one at an edge that came out otherwise."""

ROUND = (*range(1, 17), *range(32, 513, 16))
"""Sizes of two letters that are tried together."""

TOGETHER = 12
"""Pairs of them at which two demands are compared."""

LARGE = 2048
BATCH = 64


@dataclass(slots=True)
class RefusingLine:
    """A line that refuses sizes, and the demands that explain all its refusals."""

    refusals: list[Trial] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    call: RefusedSizes = field(default_factory=RefusedSizes)
    looked: int = 0
    asked: int = 0

    @property
    def keys(self) -> tuple[Any, ...]:
        """Return the calls up to the refused call, in the first refused run."""
        sample = self.refusals[0].sample
        return () if sample is None else sample.keys

    @property
    def reached(self) -> int:
        """Return the largest number of calls before a refusal."""
        return max(len(t.sample.keys) if t.sample else 0 for t in self.refusals)

    @property
    def demand(self) -> Demand:
        """Return the likeliest demand, or `Always` if nothing explains the refusals."""
        return self.demands[0] if self.demands else Always()

    @property
    def refusal(self) -> Refusal:
        """Return the refusal to report."""
        refusal = self.refusals[0].refusal
        assert refusal is not None
        return refusal


class Domain:
    """The sizes that a program accepts, as far as the runs show."""

    def __init__(self, trials: Trials, witness: Trial) -> None:
        self.trials = trials
        self.letters = trials.runner.free
        self.witness = witness
        self.places: dict[tuple[Any, ...], RefusingLine] = {}
        self.draw = random.Random(0)
        self.most = MOST + max(0, len(self.letters) - 2) * MOST // 2
        self.sure = False
        self.held = False
        self.pairs: dict[Demand, list[dict[str, int]]] = {}  # by what holds at them

    # -- what is known ---------------------------------------------------------------

    def takes(self, sizes: Mapping[str, int]) -> bool:
        """Return whether sizes are expected to be accepted."""
        return all(place.demand.holds(sizes) for place in self.places.values())

    def highest(self, name: str) -> int:
        """Return the largest size of a letter to try."""
        return BATCH if is_batch(name) else LARGE

    def learn(self) -> None:
        """Run, explain the refusals, and run again where explanations differ, until
        they agree.
        """
        for trial in self.trials.all:
            self.heed(trial)
        for sizes in self.first():
            self.heed(self.trials.at(sizes))
        self.settle(self.most, CALM)
        self.held = self.hold()
        self.sure = self.held and self.doubtful() is None

    def settle(self, most: int, enough: int) -> None:
        """Run where explanations differ, then at random sizes until the predictions
        hold.
        """
        calm = 0
        while self.trials.count < most:
            self.explain()
            wanted = self.doubtful()
            if wanted is None and calm < enough:
                wanted = self.another()
            if wanted is None:
                break
            expected = self.takes(wanted)
            trial = self.trials.at(wanted)
            self.heed(trial)
            calm = calm + 1 if trial.taken == expected else 0
        self.explain()

    def hold(self) -> bool:
        """Try the demands at their edges and between them; return whether they held.

        A demand that was learnt from some sizes says something of all. Where a run
        comes out otherwise, it is learnt again, and what is new is tried in turn.
        """
        most = self.trials.count + HELD * max(len(self.letters), 2)
        for _ in range(SURPRISES):
            if self.surprise(most) is None:
                return True
            self.settle(min(most, self.trials.count + AGAIN), SOON)
            if self.trials.count >= most or self.is_unexplained():
                return False
        return False

    def is_unexplained(self) -> bool:
        """Return whether a place refused sizes that all known demands allow."""
        return any(
            not place.demands and any(self.takes(t.sizes) for t in place.refusals)
            for place in self.places.values()
        )

    def surprise(self, most: int) -> dict[str, int] | None:
        """Return edge sizes that contradict the demands or are left untried, or
        None.
        """
        sides = tuple(name for name in self.letters if name in ("H", "W"))
        groups: list[tuple[str, ...]] = [sides] if len(sides) == 2 else []
        groups += [(name,) for name in sorted(self.letters, key=is_batch)]
        base = self.witness.sizes
        edges = iter_edge_sizes(self.takes, base, groups, self.highest)
        for sizes in chain(edges, self.rare()):
            if self.key(sizes) in self.trials.made:
                continue
            if self.trials.count >= most:
                return sizes
            trial = self.trials.at(sizes)
            self.heed(trial)
            if trial.taken != self.takes(sizes):
                return sizes
        return None

    def heed(self, trial: Trial) -> None:
        """Record where a trial was refused, if it was refused."""
        if trial.refusal is not None:
            place = self.places.setdefault(trial.refusal.place, RefusingLine())
            if trial not in place.refusals:
                place.refusals.append(trial)

    def explain(self) -> None:
        """Find demands for every place that agree with every run."""
        for place in self.places.values():
            passed = [t.sizes for t in self.trials.all if self.passed(t, place)]
            refused = [trial.sizes for trial in place.refusals]
            evidence = SizeEvidence(self.letters, passed, refused)
            kept = [demand for demand in place.demands if evidence.agrees(demand)]
            again = len(place.refusals) >= 2 * place.looked
            stale = len(kept) == 1 and self.trials.count >= place.asked + SOON
            if kept and kept[0] is place.demands[0] and not again and not stale:
                place.demands = kept
                continue
            place.asked = self.trials.count
            self.look(place)
            call = place.call
            evidence = SizeEvidence(
                self.letters, passed, refused, call.sizes, call.pairs, call.stated
            )
            place.demands = find_demands(evidence, KEPT)

    def passed(self, trial: Trial, place: RefusingLine) -> bool:
        """Return whether a trial got past a place, to its end or to a later refusal."""
        if trial.refusal is None:
            return True
        if trial in place.refusals or trial.sample is None:
            return False
        return len(trial.sample.keys) > place.reached and _has_same_start(
            trial.sample.keys, place.keys
        )

    def look(self, place: RefusingLine) -> None:
        """Find the formulas of the refused call's inputs, from all runs."""
        if len(place.refusals) >= 2 * place.looked:
            place.looked = len(place.refusals)
            place.call = fit_refused_call(self.letters, place.refusals, self.trials.all)

    # -- where to look next ------------------------------------------------------------

    def first(self) -> Iterator[dict[str, int]]:
        """Yield nearby and distant sizes, letter by letter, then small sizes of all
        letters.
        """
        base = self.witness.sizes
        for name, size in base.items():
            near = [
                size + 1,
                size - 1,
                size + 2,
                size * 2,
                size * 3,
                size // 2,
                1,
                2,
                3,
            ]
            far = [self.highest(name), self.highest(name) - 1]
            for other in (*near, *far):
                if other >= 1:
                    yield {**base, name: other}
        for size in (1, 2, 3, 5):
            yield {**dict.fromkeys(base, size), **self.batches(base)}
        yield dict.fromkeys(base, 1)

    def batches(self, base: Mapping[str, int]) -> dict[str, int]:
        """Return the letters that stand for a batch, with their current sizes."""
        return {name: size for name, size in base.items() if is_batch(name)}

    def doubtful(self) -> dict[str, int] | None:
        """Return sizes at which two explanations of a place differ, or None."""
        for place in self.places.values():
            if len(place.demands) < 2:
                continue
            reached = place.reached
            before = [p for p in self.places.values() if p.reached < reached]
            for sizes in self.points(place.demands):
                if self.key(sizes) in self.trials.made:
                    continue
                if not all(other.demand.holds(sizes) for other in before):
                    continue
                first, *rest = [demand.holds(sizes) for demand in place.demands]
                if any(other != first for other in rest):
                    return sizes
        return None

    def another(self) -> dict[str, int] | None:
        """Return untried sizes, near accepted sizes or anywhere, or None."""
        for _ in range(200):
            base = dict(self.draw.choice([t for t in self.trials.all if t.taken]).sizes)
            for name in self.letters:
                if self.draw.random() < 0.7:
                    base[name] = self.size(name, base[name])
            if self.key(base) not in self.trials.made:
                return base
        return None

    def anywhere(self) -> Iterator[dict[str, int]]:
        """Yield random sizes endlessly."""
        taken = [trial.sizes for trial in self.trials.all if trial.taken]
        while True:
            base = dict(self.draw.choice(taken))
            yield {name: self.size(name, size) for name, size in base.items()}

    def points(self, demands: Sequence[Demand]) -> Iterator[dict[str, int]]:
        """Yield sizes at which explanations may differ: near known sizes, or random
        ones.
        """
        taken = [trial.sizes for trial in self.trials.all if trial.taken][:12]
        for base in taken[:4]:
            for name in self.letters:
                for size in range(1, min(self.highest(name), 160) + 1):
                    yield {**base, name: size}
                for size in (200, 224, 256, 320, 512, 777, 1000, 1024, 2048, 3000):
                    if size <= self.highest(name):
                        yield {**base, name: size}
        for _ in range(12):
            base = dict(self.draw.choice(taken))
            name = self.draw.choice(self.letters)
            base[name] = self.size(name, base[name])
            for other in self.letters:
                if other != name:
                    for size in range(1, min(self.highest(other), 160) + 1):
                        yield {**base, other: size}
        for part in _split_equalities(demands):
            for _ in range(12):
                base = dict(self.draw.choice(taken))
                for name in self.letters:
                    base[name] = self.size(name, base[name])
                yield from self.holding(part, base)
            yield from self.together(part)
        for _ in range(200):
            base = dict(self.draw.choice(taken))
            for name in self.letters:
                base[name] = self.size(name, base[name])
            yield base

    def holding(self, part: Demand, base: dict[str, int]) -> Iterator[dict[str, int]]:
        """Yield sizes at which a demand holds, changing one letter."""
        for name in sorted(part.letters()):
            for size in range(1, min(self.highest(name), 300)):
                moved = {**base, name: size}
                if part.holds(moved):
                    yield moved
                    break

    def together(self, part: Demand) -> Iterator[dict[str, int]]:
        """Yield sizes at which a demand holds, changing two letters, as a product may
        need.
        """
        if part not in self.pairs:
            names = sorted(name for name in part.letters() if not is_batch(name))
            self.pairs[part] = [
                moved
                for pair in combinations(names, 2)
                for sizes in product(ROUND, repeat=2)
                if part.holds(
                    moved := {
                        **self.witness.sizes, **dict(zip(pair, sizes, strict=True))
                    }
                )
            ]  # fmt: skip
        moves = self.pairs[part]
        yield from self.draw.sample(moves, min(len(moves), TOGETHER))

    def rare(self) -> Iterator[dict[str, int]]:
        """Yield sizes other than the witness's that satisfy demands which hold at few
        sizes.
        """
        for part in _split_equalities([place.demand for place in self.places.values()]):
            yield from self.together(part)

    def size(self, name: str, now: int) -> int:
        """Draw a random size of a letter, sometimes one near `now`."""
        way = self.draw.random()
        high = self.highest(name)
        if way < 0.3:
            return max(1, min(high, now + self.draw.choice((-2, -1, 1, 2, -8, 8, 16))))
        if way < 0.5:
            seen = [trial.sizes[name] for trial in self.trials.all]
            return self.draw.choice(seen)
        if way < 0.8:
            return self.draw.randint(1, min(high, 128))
        return self.draw.randint(1, min(high, 1024))

    def key(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the lookup key of a trial."""
        return tuple(sizes[name] for name in self.letters)


def _has_same_start(calls: tuple[Any, ...], start: tuple[Any, ...]) -> bool:
    """Return whether a run began with the calls of another."""
    return calls[: len(start)] == start


def _split_equalities(demands: Sequence[Demand]) -> list[Demand]:
    """Return the demands with a part that holds at few sizes, and all parts of these
    demands.
    """
    rare = (EqualSizes, Fits, Square)
    rare_demands: list[Demand] = []
    for demand in demands:
        parts = demand.parts if isinstance(demand, Both) else (demand,)
        if any(isinstance(part, rare) for part in parts):
            rare_demands += [demand, *parts]
    return list(dict.fromkeys(rare_demands))
