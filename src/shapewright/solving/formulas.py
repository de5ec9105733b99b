"""Formulas for every size of a program: run, fitted, told apart, checked."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from shapewright.dims.expression import Expression
from shapewright.dims.fitting import Fitter
from shapewright.reasoning.formulas.aligning import parting
from shapewright.reasoning.formulas.fitted import Dims, Fitted, Varying, fitted
from shapewright.reasoning.formulas.lettered import known_tensors, lettered
from shapewright.reasoning.formulas.shortening import shortened, without
from shapewright.reasoning.formulas.turning import Point, Turn, points, turns, unseen
from shapewright.solving.lattice import Lattice
from shapewright.solving.planning import (
    FAR,
    first_accepted,
    is_batch,
    lattices_apart,
    lattices_of,
    spread,
    telling_apart,
)
from shapewright.solving.running import Run, Runner
from shapewright.source.span import Span
from shapewright.trace.formulas import Branch, Checked, Formulas
from shapewright.trace.record import Trace

FEW = 12
"""Runs for one or two letters."""

CHECKS, MOST_CHECKS = 2, 5
"""Runs that take no part in a fit, and how often they are made where one is wrong."""

FURTHER = 16
"""Runs more that tell formulas apart."""

GUESSED, ENOUGH = 16, 8
"""Runs more where a stride was guessed; runs in the range that formulas rest on."""

EDGES = 4
"""Runs more where a program turns at some sizes."""

MANY = 24
"""Runs for more."""


def with_formulas(runner: Runner) -> Trace:
    """The trace at usual sizes, with a formula for every size that has one.

    A program that takes no usual sizes gives the trace of the first run, as it is.
    """
    return Solving(runner).trace()


class Solving:
    """The runs of one program, and what follows from them.

    A run that is refused shows the sizes of all calls before the one that failed, so
    it is evidence as well; the range is that of the runs that reached their end.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.most = FEW if len(runner.free) <= 2 else MANY
        self.runs: list[Run] = []
        self.base: Run
        self.lattices: dict[str, Lattice] = {}
        self.fitted: Fitted
        self.turns: list[Turn] = []
        self.clipped: list[tuple[str, int, bool]] = []
        self.parted: list[Branch] = []
        self.unwatched: str | None = None

    def trace(self) -> Trace:
        """All of it."""
        self.base = first_accepted(self.runner, self.most)
        if not self.base.accepted:
            return self.base.trace
        self.lattices = lattices_of(self.runner, self.base, self.most // 2)
        self.scatter()
        if 2 * len(self.accepted) <= self.runner.count:  # sizes that hang together
            self.lattices = lattices_apart(self.runner, self.base)
            self.scatter()
        self.ends()
        self.gather()
        self.tell_apart()
        self.turn()
        self.check()
        return self.told()

    def turn(self) -> None:
        """Run at both sides of each size at which the program turns, or stay before.

        What is compared is known from one more run, with its sizes watched.
        """
        guards = self.runner.guards(self.base)
        self.unwatched = guards.reason
        known = known_tensors(self.base.trace, self.fitted.calls, self.given())
        self.turns = turns(self.base.trace, known, guards)
        steps = {name: each.step for name, each in self.lattices.items()}
        for point in self.not_seen(steps):
            before = max(1, point.size - max(steps[point.letter], 1))
            sizes = [point.size] if point.turn.periodic else [before, point.size]
            for size in sizes:
                if self.runner.count < self.most + EDGES:
                    self.runner.at({**self.apart(point.letter), point.letter: size})
        self.gather()
        self.tell_apart()
        for point in self.not_seen(steps):
            if not point.turn.periodic:
                self.stay_before(point)
        if self.fitted.varying:
            self.stay_on_one_way(steps)

    def apart(self, letter: str) -> dict[str, int]:
        """Sizes for the other letters, not those of the base."""
        sizes = {name: lattice.at(2) for name, lattice in self.lattices.items()}
        return {**sizes, letter: self.base.sizes[letter]}

    def edges(self, steps: Mapping[str, int]) -> list[Point]:
        """Where the program turns within the range."""
        low, high = self.bounds()
        base = self.base.sizes
        return [p for each in self.turns for p in points(each, base, low, high, steps)]

    def not_seen(self, steps: Mapping[str, int]) -> list[Point]:
        """The turns that no two runs are on both sides of."""
        sampled = [run.sizes for run in self.accepted]
        return unseen(self.edges(steps), sampled, steps)

    def stay_before(self, point: Point) -> None:
        """Claim nothing on the other side of a turn, and fill this side."""
        base = self.base.sizes[point.letter]
        self.clipped.append((point.letter, point.size, base >= point.size))
        draw = random.Random(1)
        for _ in range(ENOUGH - len(self.accepted)):
            self.runner.at(self.anywhere(draw))

    def anywhere(self, draw: random.Random) -> dict[str, int]:
        """Sizes at random between all that were accepted, on the base's side."""
        made = [run.sizes for run in self.runner.made.values() if run.accepted]
        sizes = {}
        for name, each in self.lattices.items():
            low = min(run[name] for run in made)
            high = max(run[name] for run in made)
            step = max(each.step, 1)
            for letter, size, above in self.clipped:
                if letter == name and above:
                    low = max(low, low + -(-(size - low) // step) * step)
                elif letter == name:
                    high = min(high, size - 1)
            sizes[name] = draw.randrange(low, max(high, low) + 1, step)
        return sizes

    def stay_on_one_way(self, steps: Mapping[str, int]) -> None:
        """Leave out the runs beyond a turn where sizes have formulas without them."""
        for point in self.edges(steps):
            if point.turn.periodic:
                continue
            before = len(self.fitted.varying)
            self.stay_before(point)
            self.gather()
            if len(self.fitted.varying) >= before:
                self.clipped.pop()
                self.gather()
            else:
                text = f"the program goes another way at {point.letter} = {point.size}"
                self.parted.append(Branch(text, point.turn.span))

    def within(self, sizes: Mapping[str, int]) -> bool:
        """Whether sizes are on the base's side of what was left out."""
        return all(
            (sizes[letter] >= size) == above for letter, size, above in self.clipped
        )

    def check(self) -> None:
        """Runs at sizes that took no part; a formula that was wrong is fitted anew.

        More of them where a stride was guessed, or where few runs are in the range.
        """
        draw = random.Random(0)
        for _ in range(MOST_CHECKS):
            before = self.fitted
            few = max(0, ENOUGH - len(self.accepted))
            checks = CHECKS + few + (GUESSED if before.guessed else 0)
            for _ in range(checks):
                self.runner.at(self.somewhere(draw))
            self.gather()
            if self.fitted.calls == before.calls:
                return
            self.tell_apart()

    def somewhere(self, draw: random.Random) -> dict[str, int]:
        """Sizes of the range, at random."""
        low, high = self.bounds()
        return {
            name: draw.randrange(low[name], high[name] + 1, max(each.step, 1))
            for name, each in self.lattices.items()
        }

    def scatter(self) -> None:
        """The first runs, far apart."""
        for sizes in islice(spread(self.lattices), 4 if self.most == FEW else 8):
            self.runner.at(sizes)

    def gather(self) -> None:
        """Formulas from all runs so far."""
        others = [run for run in self.runner.made.values() if run is not self.base]
        self.runs = [
            self.base,
            *(r for r in others if r.sample is not None and self.within(r.sizes)),
        ]
        self.fitted = fitted([run.sample for run in self.runs])

    @property
    def accepted(self) -> list[Run]:
        """The runs that reached their end."""
        made = self.runner.made.values()
        return [run for run in made if run.accepted and self.within(run.sizes)]

    def ends(self) -> None:
        """Small and large sizes, at which formulas often stop to hold."""
        for end in (self.large, self.small):
            self.runner.at({name: end(name) for name in self.runner.free})

    def large(self, name: str) -> int:
        """A size of a letter that is far above the first."""
        lattice = self.lattices[name]
        return lattice.at(FAR) if is_batch(name) else lattice.large

    def small(self, name: str) -> int:
        """A size of a letter that is below the first."""
        lattice = self.lattices[name]
        least = is_batch(name) and lattice.step == 1 and lattice.low is None
        return 1 if least else lattice.small

    def tell_apart(self) -> None:
        """More runs, until no formula has a rival within the range."""
        while self.runner.count < self.most + FURTHER and self.fitted.rivals:
            low, high = self.bounds()
            sizes = telling_apart(
                self.fitted.rivals, self.base.sizes, self.lattices, low, high
            )
            if sizes is None or tuple(sizes.values()) in self.runner.made:
                return
            self.runner.at(sizes)
            self.gather()

    def open(self) -> set[Expression]:
        """Formulas with a rival that says otherwise within the range."""
        low, high = self.bounds()
        base = self.base.sizes
        return {
            pair[0]
            for pair in self.fitted.rivals
            if telling_apart([pair], base, self.lattices, low, high) is not None
        }

    def bounds(self) -> tuple[dict[str, int], dict[str, int]]:
        """The least and the greatest size of each letter that were accepted."""
        names, runs = self.base.sizes, self.accepted
        low = {name: min(run.sizes[name] for run in runs) for name in names}
        high = {name: max(run.sizes[name] for run in runs) for name in names}
        return low, high

    def told(self) -> Trace:
        """The base's trace with its formulas, and where they hold."""
        low, high = self.bounds()
        letters = {
            name: Checked(low[name], high[name], max(self.lattices[name].step, 1))
            for name in self.base.sizes
        }
        trace = self.base.trace
        formulas = Formulas(
            letters,
            len(self.accepted),
            self.runner.count + 1,  # one was watched
            {each.name: self.seen(each) for each in self.fitted.varying},
            self.branches(),
        )
        steps = {
            name: each.step
            for name, each in letters.items()
            if each.step > 1 and each.low % each.step == 0
        }
        calls = without(self.fitted.calls, self.open())
        calls = shortened(calls, steps) if steps else calls
        made = lettered(trace, calls, self.given())
        return replace(made, formulas=formulas)

    def given(self) -> list[Dims]:
        """The formulas of the tensors that the target is given."""
        columns = {
            name: tuple(run.sizes[name] for run in self.runs)
            for name in self.base.sizes
        }
        fitter = Fitter(columns)
        fed = [self.runner.feeding.shapes(run.sizes) for run in self.runs]
        shapes = zip(*fed, strict=True)
        found: list[Dims] = []
        for each in shapes:
            fits = [fitter.fit(column) for column in zip(*each, strict=True)]
            found.append(tuple(fit.formula if fit else None for fit in fits))
        return found

    def seen(self, varying: Varying) -> Branch:
        """What a size without a formula was, run by run."""
        span = self.span_of(varying.call)
        letters = self.runner.free
        seen = ", ".join(
            f"{size} at {', '.join(f'{n}={sizes[n]}' for n in letters)}"
            for sizes, size in varying.seen[:6]
        )
        return Branch(f"varies: {seen}", span)

    def branches(self) -> Sequence[Branch]:
        """Lines after which runs went different ways."""
        found: dict[object, Branch] = {each.span: each for each in self.parted}
        for run in self.runs[1:]:
            at = parting(self.base.sample, run.sample) if run.accepted else None
            if at is None:
                continue
            span = self.turned(run.sizes) or self.span_of(at)
            sizes = ", ".join(f"{n}={v}" for n, v in run.sizes.items())
            text = f"the program goes another way at {sizes}"
            found.setdefault(span, Branch(text, span))
        return tuple(found.values())

    def turned(self, sizes: Mapping[str, int]) -> Span | None:
        """The first line that compares sizes and comes out otherwise at these."""
        base = self.base.sizes
        differ = (t for t in self.turns if t.outcome(sizes) != t.outcome(base))
        return next((each.span for each in differ), None)

    def span_of(self, call: int) -> Span | None:
        """The line of a call of the base run."""
        ops = self.base.trace.ops
        return ops[call].span if call < len(ops) else None
