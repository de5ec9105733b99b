"""Find formulas for every size of a program from several runs, check them at further
sizes, and write them into its trace.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shapewright.analysis.formulas.branch_points import (
    Point,
    Turn,
    find_points,
    find_turns,
    find_unseen,
)
from shapewright.analysis.formulas.call_formulas import (
    CallFormulas,
    Dims,
    Varying,
    find_parting,
    fit_calls,
)
from shapewright.analysis.formulas.constant_names import find_constant_names
from shapewright.analysis.formulas.lettered_traces import (
    attach_formulas,
    drop_uncertain,
    is_consistent,
    is_plain,
    shorten_formulas,
)
from shapewright.commands.solve.evidence import EVERY, MANY_SIZES, Evidence, Sizes
from shapewright.commands.solve.runs import Runner
from shapewright.commands.solve.sample_sizes import (
    find_distinguishing_sizes,
    find_lattices,
    find_separate_lattices,
)
from shapewright.program.spans import Span
from shapewright.record.formulas import Branch, Checked, Formulas
from shapewright.record.trace import Trace
from shapewright.sizes.expressions import Expression

if TYPE_CHECKING:
    from shapewright.engine.recipes.recipe import Sample


class _Telling(Evidence):
    """Reports everything that is known of a program."""

    def told(self) -> Trace:
        """Return the base's trace with its formulas and their range."""
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
            {letter.name: self.seen(letter) for letter in self.fitted.varying},
            self.branches(),
        )
        steps = {
            name: letter.step
            for name, letter in letters.items()
            if letter.step > 1 and letter.low % letter.step == 0
        }
        calls = drop_uncertain(self.fitted.calls, self.open())
        calls = shorten_formulas(calls, steps) if steps else calls
        lettered_trace = attach_formulas(
            trace, calls, self.given(), self.returned(calls)
        )
        names = find_constant_names(lettered_trace, self.runner.numbers())
        return replace(lettered_trace, formulas=replace(formulas, names=names))

    def returned(self, calls: Sequence[CallFormulas]) -> list[Dims] | None:
        """Return the strides of the target's output, if its run was watched."""
        if self.watched is None or not self.base.watched:
            return None
        places = self.watched.seen.output
        return [
            calls[call].strides[nth]
            if call >= 0 and nth < len(calls[call].strides)
            else ()
            for call, nth in places
        ]

    def within_range(self, low: Sizes, high: Sizes) -> list[Sample]:
        """Return complete derived samples within the range, at sizes without a run."""
        return [
            sample
            for key, sample in (self.derived.made if self.derived else {}).items()
            if self.derived is not None
            and self.derived.full(sample)
            and key not in self.runner.made
            and all(low[n] <= size <= high[n] for n, size in sample.letters.items())
        ]

    def seen(self, varying: Varying) -> Branch:
        """Return the values of a size without a formula, run by run."""
        span = self.span_of(varying.call)
        letters = self.runner.free
        seen = ", ".join(
            f"{size} at {', '.join(f'{n}={sizes[n]}' for n in letters)}"
            for sizes, size in varying.seen[:6]
        )
        return Branch(f"varies: {seen}", span)

    def branches(self) -> Sequence[Branch]:
        """Return the lines after which runs take different paths."""
        branches: dict[object, Branch] = {branch.span: branch for branch in self.parted}
        for run in self.runs[1:]:
            at = (
                find_parting(self.base.recorded, run.recorded) if run.accepted else None
            )
            if at is None:
                continue
            span = self.turned(run.sizes) or self.span_of(at)
            sizes = ", ".join(f"{n}={v}" for n, v in run.sizes.items())
            text = f"the program goes another way at {sizes}"
            branches.setdefault(span, Branch(text, span))
        return tuple(branches.values())

    def turned(self, sizes: Mapping[str, int]) -> Span | None:
        """Return the first line whose comparison has another outcome at these sizes."""
        base = self.base.sizes
        differ = (t for t in self.turns if t.outcome(sizes) != t.outcome(base))
        return next((self.span_at(turn) for turn in differ), None)

    def span_at(self, turn: Turn) -> Span | None:
        """Return the line of a comparison or a slice."""
        return turn.span if turn.call is None else self.span_of(turn.call)

    def span_of(self, call: int) -> Span | None:
        """Return the line of a call of the base run."""
        ops = self.base.trace.ops
        return ops[call].span if call < len(ops) else None

    def open(self) -> set[Expression]:
        """Return the formulas that have a differing rival within the range."""
        low, high = self.bounds()
        base = self.base.sizes
        return {
            pair[0]
            for pair in self.fitted.rivals
            if find_distinguishing_sizes([pair], base, self.lattices, low, high)
            is not None
        }


CHECKS, MOST_CHECKS = 2, 5
"""Runs that take no part in a fit, and how often they are made where one is wrong."""

FURTHER = 16
"""Runs more that tell formulas apart."""

GUESSED, ENOUGH = 16, 8
"""Runs more where a stride was guessed; runs in the range that formulas rest on."""

ROUNDED_SIZES = 36
"""Sizes at which rules are asked where formulas are rounded."""

AT_ONCE = 8
"""Formulas that are told apart at once."""

EDGES = 4
"""Runs more where a program turns at some sizes, and where rules do not lead."""

LOOKS = 8192
"""Sizes at which comparisons are worked out, all comparisons together."""


def with_formulas(runner: Runner) -> Trace:
    """Return the trace at usual sizes, with a formula for every size that has one.

    A program that takes no usual sizes gives the trace of the first run, as it is.
    """
    return _Solving(runner).trace()


class _Solving(_Telling):
    """Runs a program, and finds formulas for the sizes in its runs."""

    def trace(self) -> Trace:
        """Run all steps, and return the trace with formulas."""
        self.begin()
        if not self.base.accepted:
            return self.base.trace
        self.few = self.derives()
        if not self.few:
            self.settle()
            self.lattices = find_lattices(self.runner, self.base, self.most // 2)
            self.few = self.derived is not None and self.derives()
        if not self.few:
            self.scatter()
            if 2 * len(self.accepted) <= self.runner.count:  # sizes that hang together
                self.lattices = find_separate_lattices(self.runner, self.base)
                self.scatter()
            self.ends()
        self.gather()
        self.tell_apart()
        self.turn()
        self.check()
        return self.told()

    def turn(self) -> None:
        """Run on both sides of every branch point, or restrict the claims to one side.

        What is compared is known from one more run, with its sizes watched.
        """
        if self.watched is not None:
            known, guards = self.known_tensors(), self.watched.guards
            slices = self.watched.seen.slices
            self.turns = find_turns(self.base.trace.letters, known, guards, slices)
        steps = {name: lattice.step for name, lattice in self.lattices.items()}
        points = self.not_seen(steps)
        self.work_out(
            [s for p in points if p.turn.call is not None for s in self.at(p)]
        )
        for point in points:
            for sizes in self.at(point):
                is_known = point.turn.call is not None and self.told_at(sizes)
                if not is_known and self.runner.count < self.most + EDGES:
                    self.runner.at(sizes)
        self.gather()
        self.tell_apart()
        for point in self.not_seen(steps):
            if not point.turn.periodic:
                self.stay_before(point)
        if self.fitted.varying:
            self.stay_on_one_way(steps)

    def at(self, point: Point) -> list[dict[str, int]]:
        """Return sizes at a branch point, and right below it."""
        letter = point.letter
        before = max(1, point.size - max(self.lattices[letter].step, 1))
        sizes = [point.size] if point.turn.periodic else [before, point.size]
        beside = {name: self.base.sizes[name] for name in point.turn.letters}
        apart = self.apart(letter) | beside
        return [{**apart, letter: size} for size in sizes]

    def known_tensors(self) -> dict[int, Dims]:
        """Return the formulas of tensors, by their numbers in the watched run."""
        assert self.watched is not None
        input_dims, calls = self.given(), self.fitted.calls
        known: dict[int, Dims] = {}
        for number, (call, nth) in self.watched.seen.places.items():
            shapes = input_dims if call < 0 else calls[call].shapes
            if nth < len(shapes):
                known[number] = shapes[nth]
        return known

    def apart(self, letter: str) -> dict[str, int]:
        """Return sizes for the other letters that differ from the base's."""
        sizes = {name: lattice.at(2) for name, lattice in self.lattices.items()}
        return {**sizes, letter: self.base.sizes[letter]}

    def edges(self, steps: Mapping[str, int]) -> list[Point]:
        """Return the points at which the program branches within the range."""
        low, high = self.bounds()
        base = self.base.sizes
        fine = LOOKS // max(len(self.turns), 1)
        return [
            point
            for turn in self.turns
            for point in find_points(turn, base, low, high, steps, fine)
        ]

    def not_seen(self, steps: Mapping[str, int]) -> list[Point]:
        """Return the branch points that do not have runs on both sides."""
        sampled: list[Sizes] = [run.sizes for run in self.accepted]
        sampled += [sample.letters for sample in self.told_by_rules]
        return find_unseen(self.edges(steps), sampled, steps)

    def stay_before(self, point: Point) -> None:
        """Restrict the claims to the base's side of a branch point; run more there."""
        base = self.base.sizes[point.letter]
        self.clipped.append((point.letter, point.size, base >= point.size))
        draw = random.Random(1)
        for _ in range(ENOUGH - len(self.accepted)):
            self.runner.at(self.anywhere(draw))

    def stay_on_one_way(self, steps: Mapping[str, int]) -> None:
        """Drop the runs beyond a branch point if sizes have formulas without them."""
        for point in self.edges(steps):
            if point.turn.periodic or len(point.turn.letters) > 1:
                continue  # what is beyond has no bound in one letter
            before = len(self.fitted.varying)
            self.stay_before(point)
            self.gather()
            if len(self.fitted.varying) >= before:
                self.clipped.pop()
                self.gather()
            else:
                text = f"the program goes another way at {point.letter} = {point.size}"
                self.parted.append(Branch(text, self.span_at(point.turn)))

    def check(self) -> None:
        """Run at sizes that were not used; fit formulas again if one proves wrong.

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
            for point in [*sizes, *self.not_led()]:
                self.runner.at(point)
            self.collect()
            classes = self.classes()
            fresh = [sample for sample in self.samples if id(sample) not in known]
            if classes and all(is_consistent(before.calls, classes, s) for s in fresh):
                return
            self.fitted = fit_calls(self.samples, classes)
            if self.fitted.calls == before.calls:
                return
            self.tell_apart()

    def not_led(self) -> list[Sizes]:
        """Return sizes of the range at which the program diverges from the base.

        Only runs show what comes out there.
        """
        if self.derived is None or not self.few:
            return []
        low, high = self.bounds()
        diverging_sizes = [
            sample.letters
            for key, sample in self.derived.made.items()
            if key not in self.runner.made
            and not self.derived.full(sample)
            and self.within(sample.letters)
            and all(low[n] <= size <= high[n] for n, size in sample.letters.items())
            and all(
                (size - low[n]) % max(self.lattices[n].step, 1) == 0
                for n, size in sample.letters.items()
            )
        ]
        return diverging_sizes[:EDGES]

    def ask_rules(self, draw: random.Random, sizes: Sequence[Sizes]) -> None:
        """Derive samples at unused sizes, more of them where formulas round."""
        plain = self.few and is_plain(self.fitted.calls, self.classes())
        more = self.many(draw, MANY_SIZES if plain else ROUNDED_SIZES)
        if self.few and self.count_of_range() <= EVERY:
            more = self.all_of_range()
        elif self.fitted.guessed:
            more += self.each()
        self.work_out([*sizes, *more])

    def gather(self) -> None:
        """Fit formulas to all runs so far, unless the samples are unchanged."""
        before = self.samples
        self.collect()
        if len(before) != len(self.samples) or any(
            old is not new for old, new in zip(before, self.samples, strict=True)
        ):
            self.fitted = fit_calls(self.samples, self.classes())

    def tell_apart(self) -> None:
        """Run more until no formula has a rival within the range."""
        while self.runner.count < self.most + FURTHER and self.fitted.rivals:
            low, high = self.bounds()
            sizes = find_distinguishing_sizes(
                self.fitted.rivals, self.base.sizes, self.lattices, low, high
            )
            if sizes is None or not self.ask(sizes, low, high):
                return
            self.gather()

    def ask(self, sizes: dict[str, int], low: Sizes, high: Sizes) -> bool:
        """Distinguish rivals by rules if these apply, otherwise by a run."""
        key = tuple(sizes.values())
        if self.derived is not None and key not in self.derived.made:
            pairs = [[pair] for pair in self.fitted.rivals[:AT_ONCE]]
            base = self.base.sizes
            candidates = (
                find_distinguishing_sizes(p, base, self.lattices, low, high)
                for p in pairs
            )
            self.work_out(
                [sizes, *(candidate for candidate in candidates if candidate)]
            )
            if self.told_at(sizes):
                return True
        if key in self.runner.made:
            return False
        self.runner.at(sizes)
        return True
