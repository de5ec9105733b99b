"""Formulas for every size of a program: run, fitted, told apart, checked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from shapewright.dims.expression import Expression
from shapewright.dims.fitting import Fitter
from shapewright.reasoning.formulas.aligning import parting
from shapewright.reasoning.formulas.fitted import (
    CallFormulas,
    Dims,
    Fitted,
    Varying,
    fitted,
)
from shapewright.reasoning.formulas.holding import are_plain, holds
from shapewright.reasoning.formulas.lettered import lettered
from shapewright.reasoning.formulas.shortening import shortened, without
from shapewright.reasoning.formulas.turning import Point, Turn, points, turns, unseen
from shapewright.solving.deriving import Derived, Sizes, derived_from
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
from shapewright.solving.running import Run, Runner, Watched, alike
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

MANY_SIZES, ROUNDED_SIZES, NEAR, EVERY = 12, 36, 6, 256
"""Sizes at which rules are asked: at random, where formulas are rounded, from the
least on, and each size of a letter at most where a stride was guessed."""

AT_ONCE = 8
"""Formulas that are told apart at once."""

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
        self.watched: Watched | None = None
        self.derived: Derived | None = None
        self.few = False  # rules tell all, so few runs are made
        self.samples: list[Any] = []

    def trace(self) -> Trace:
        """All of it."""
        self.begin()
        if not self.base.accepted:
            return self.base.trace
        self.few = self.derives()
        if not self.few:
            self.settle()
            self.lattices = lattices_of(self.runner, self.base, self.most // 2)
            self.few = self.derived is not None and self.derives()
        if not self.few:
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

    def begin(self) -> None:
        """The base, watched from the first where it takes the usual sizes."""
        runner = self.runner
        run, watched = runner.watch(runner.usual)
        if run.accepted and watched is not None:
            runner.keep(run)
            self.watched = watched
        self.base = first_accepted(runner, self.most)
        if self.base.accepted and self.watched is None:
            self.watch()
        if self.watched is not None and self.watched.seen.recipe is not None:
            recipe = self.watched.seen.recipe
            self.derived = derived_from(recipe, self.base, runner.feeding)
        self.lattices = {name: Lattice(n, 1) for name, n in self.base.sizes.items()}

    def watch(self) -> None:
        """Watch a run like the base; one that differs in anything tells nothing."""
        self.watched = None
        for stand_ins in (True, False):
            run, watched = self.runner.watch(self.base.sizes, stand_ins)
            if alike(run, self.base):
                self.watched = watched
                return

    def settle(self) -> None:
        """A base that was not watched, where rules do not tell what runs show."""
        if self.derived is None and self.base.watched:
            first = self.base
            self.base = self.runner.again(first.sizes)
            if not alike(first, self.base):
                self.watch()

    def derives(self) -> bool:
        """Whether rules tell what a few runs show, and lead to the end everywhere.

        The sizes that they tell are evidence as runs are, also where they end before.
        """
        self.ends()
        if self.derived is None:
            return False
        sizes = self.many(random.Random(2), MANY_SIZES, NEAR)
        self.work_out([*(run.sizes for run in self.runner.made.values()), *sizes])
        if self.derived is None or not self.believed():
            return False
        low, high = self.ends_of()
        ends = self.runner.at(low).accepted and self.runner.at(high).accepted
        return ends and all(map(self.told_at, sizes))

    def work_out(self, sizes: Sequence[Sizes]) -> None:
        """Ask rules at some sizes at once; no more if they deny what the run did."""
        if self.derived is not None and not self.derived.work_out(sizes):
            self.derived = None

    def believed(self) -> bool:
        """Whether rules say of every run what it shows; else they are not asked."""
        if self.derived is not None and not all(
            map(self.derived.agrees, self.runner.made.values())
        ):
            self.derived = None
        return self.derived is not None

    def many(
        self, draw: random.Random, count: int, near: int = 0
    ) -> list[dict[str, int]]:
        """Sizes of the range: some at random, and each of the first ones."""
        low, _ = self.bounds()
        sizes = [self.somewhere(draw) for _ in range(count)]
        for name, each in self.lattices.items():
            for nth in range(near):
                size = low[name] + nth * max(each.step, 1)
                sizes.append({**self.somewhere(draw), name: size})
        low, high = self.bounds()
        return [
            each
            for each in sizes
            if all(low[name] <= size <= high[name] for name, size in each.items())
        ]

    def turn(self) -> None:
        """Run at both sides of each size at which the program turns, or stay before.

        What is compared is known from one more run, with its sizes watched.
        """
        if self.watched is not None:
            known, guards = self.known_tensors(), self.watched.guards
            slices = self.watched.seen.slices
            self.turns = turns(self.base.trace.letters, known, guards, slices)
        steps = {name: each.step for name, each in self.lattices.items()}
        found = self.not_seen(steps)
        self.work_out([s for p in found if p.turn.call is not None for s in self.at(p)])
        for point in found:
            for sizes in self.at(point):
                told = point.turn.call is not None and self.told_at(sizes)
                if not told and self.runner.count < self.most + EDGES:
                    self.runner.at(sizes)
        self.gather()
        self.tell_apart()
        for point in self.not_seen(steps):
            if not point.turn.periodic:
                self.stay_before(point)
        if self.fitted.varying:
            self.stay_on_one_way(steps)

    def at(self, point: Point) -> list[dict[str, int]]:
        """Sizes at a turn, and right before it."""
        letter = point.letter
        before = max(1, point.size - max(self.lattices[letter].step, 1))
        sizes = [point.size] if point.turn.periodic else [before, point.size]
        return [{**self.apart(letter), letter: size} for size in sizes]

    def told_at(self, sizes: Sizes) -> bool:
        """Whether rules lead to the end at these sizes."""
        return self.derived is not None and self.derived.full(self.derived.at(sizes))

    def known_tensors(self) -> dict[int, Dims]:
        """The formulas of tensors, by their numbers in the run that was watched."""
        assert self.watched is not None
        given, calls = self.given(), self.fitted.calls
        known: dict[int, Dims] = {}
        for number, (call, nth) in self.watched.seen.places.items():
            shapes = given if call < 0 else calls[call].shapes
            if nth < len(shapes):
                known[number] = shapes[nth]
        return known

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
        sampled += [each.letters for each in self.told_by_rules]
        return unseen(self.edges(steps), sampled, steps)

    def stay_before(self, point: Point) -> None:
        """Claim nothing on the other side of a turn, and fill this side."""
        base = self.base.sizes[point.letter]
        self.clipped.append((point.letter, point.size, base >= point.size))
        draw = random.Random(1)
        for _ in range(ENOUGH - len(self.accepted)):
            self.runner.at(self.anywhere(draw))

    @property
    def told_by_rules(self) -> list[Any]:
        """The samples that rules tell to the end."""
        return [] if self.derived is None else self.derived.complete

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
                self.parted.append(Branch(text, self.span_at(point.turn)))

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
            known = set(map(id, self.samples))
            few = max(0, ENOUGH - len(self.accepted))
            checks = CHECKS + few + (GUESSED if before.guessed else 0)
            sizes = [self.somewhere(draw) for _ in range(1 if self.few else checks)]
            self.ask_rules(draw, sizes)
            for each in sizes:
                self.runner.at(each)
            self.collect()
            classes = self.classes()
            fresh = [each for each in self.samples if id(each) not in known]
            if classes and all(holds(before.calls, classes, s) for s in fresh):
                return
            self.fitted = fitted(self.samples, classes)
            if self.fitted.calls == before.calls:
                return
            self.tell_apart()

    def ask_rules(self, draw: random.Random, sizes: Sequence[Sizes]) -> None:
        """Work out sizes that took no part: more where formulas are rounded."""
        plain = self.few and are_plain(self.fitted.calls, self.classes())
        more = self.many(draw, MANY_SIZES if plain else ROUNDED_SIZES)
        if self.fitted.guessed:
            more += self.each()
        self.work_out([*sizes, *more])

    def each(self) -> Iterator[dict[str, int]]:
        """Every size of a letter of the range, as far as they are few."""
        low, high = self.bounds()
        for name, each in self.lattices.items():
            sizes = range(low[name], high[name] + 1, max(each.step, 1))
            for size in sizes[:EVERY]:
                yield {**self.base.sizes, name: size}

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
        """Formulas from all runs so far, where they are not known already."""
        before = self.samples
        self.collect()
        if len(before) != len(self.samples) or any(
            one is not two for one, two in zip(before, self.samples, strict=True)
        ):
            self.fitted = fitted(self.samples, self.classes())

    def collect(self) -> None:
        """All that runs and rules showed so far."""
        if self.derived is not None and not self.believed():
            self.few = False
            self.settle()
            self.scatter()
        made = self.runner.made
        others = [run for run in made.values() if run is not self.base]
        self.runs = [
            self.base,
            *(r for r in others if r.sample is not None and self.within(r.sizes)),
        ]
        if self.few:  # rules refuse what runs refuse
            self.runs = [run for run in self.runs if run.accepted]
        self.samples = [run.sample for run in self.runs]
        if self.derived is not None:
            told = self.derived.made.items()
            self.samples += [
                each
                for key, each in told
                if key not in made and self.within(each.letters)
            ]

    def classes(self) -> Sequence[int]:
        """Calls that are the same at all sizes, where every sample has every call."""
        if self.derived is None or not all(map(self.derived.full, self.samples)):
            return ()
        return self.derived.classes

    @property
    def accepted(self) -> list[Run]:
        """The runs that reached their end."""
        made = self.runner.made.values()
        return [run for run in made if run.accepted and self.within(run.sizes)]

    def ends(self) -> None:
        """Small and large sizes, at which formulas often stop to hold."""
        for sizes in self.ends_of():
            self.runner.at(sizes)

    def ends_of(self) -> list[dict[str, int]]:
        """All letters large, and all small."""
        return [
            {name: end(name) for name in self.runner.free}
            for end in (self.large, self.small)
        ]

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
            if sizes is None or not self.ask(sizes, low, high):
                return
            self.gather()

    def ask(self, sizes: dict[str, int], low: Sizes, high: Sizes) -> bool:
        """Tell rivals apart by rules, where these lead; else by a run."""
        key = tuple(sizes.values())
        if self.derived is not None and key not in self.derived.made:
            pairs = [[pair] for pair in self.fitted.rivals[:AT_ONCE]]
            base = self.base.sizes
            found = (telling_apart(p, base, self.lattices, low, high) for p in pairs)
            self.work_out([sizes, *(each for each in found if each)])
            if self.told_at(sizes):
                return True
        if key in self.runner.made:
            return False
        self.runner.at(sizes)
        return True

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
            self.runner.tried,
            len(self.within_range(low, high)),
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
        made = lettered(trace, calls, self.given(), self.returned(calls))
        return replace(made, formulas=formulas)

    def returned(self, calls: Sequence[CallFormulas]) -> list[Dims] | None:
        """The strides of what the target returned, where its run was watched."""
        if self.watched is None or not self.base.watched:
            return None
        places = self.watched.seen.output
        return [
            calls[call].strides[nth]
            if call >= 0 and nth < len(calls[call].strides)
            else ()
            for call, nth in places
        ]

    def within_range(self, low: Sizes, high: Sizes) -> list[Any]:
        """What rules told to the end within the range, where no run was made."""
        return [
            each
            for key, each in (self.derived.made if self.derived else {}).items()
            if self.derived is not None
            and self.derived.full(each)
            and key not in self.runner.made
            and all(low[n] <= size <= high[n] for n, size in each.letters.items())
        ]

    def given(self) -> list[Dims]:
        """The formulas of the tensors that the target is given."""
        columns = {
            name: tuple(each.letters[name] for each in self.samples)
            for name in self.base.sizes
        }
        fitter = Fitter(columns)
        fed = [self.runner.feeding.shapes(each.letters) for each in self.samples]
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
        return next((self.span_at(each) for each in differ), None)

    def span_at(self, turn: Turn) -> Span | None:
        """The line of a comparison, or of a slice."""
        return turn.span if turn.call is None else self.span_of(turn.call)

    def span_of(self, call: int) -> Span | None:
        """The line of a call of the base run."""
        ops = self.base.trace.ops
        return ops[call].span if call < len(ops) else None
