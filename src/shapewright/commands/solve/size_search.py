"""Search for sizes: accepted sizes if the usual ones are refused, and sizes that give a
wanted output shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from itertools import product as every

from shapewright.commands.solve.accepted_sizes import Domain
from shapewright.commands.solve.sample_sizes import iter_other_sizes
from shapewright.commands.solve.size_trials import (
    RefusedSizes,
    Trial,
    Trials,
    fit_refused_call,
)
from shapewright.record.ops import collect_leaves
from shapewright.record.trace import Trace
from shapewright.sizes.expressions import Expression, Size

LARGEST_WANTED = 4096
"""Sizes of a letter that are looked through."""

LOOKED_AT = 20_000
"""Sizes of several letters together that are worked out."""

MOST_EXAMPLES = 6
"""Answers that are run and shown."""

Wanted = Sequence[int | str]
"""A shape: numbers, and letters that may be anything or are those of the input."""


def find_sizes_giving(
    trace: Trace, wanted: Sequence[Wanted], domain: Domain, trials: Trials
) -> list[Trial]:
    """Return trials whose output has the wanted shape, the simplest sizes first.

    Each is run: a formula alone is no answer.
    """
    outputs = [fact.shape for fact in collect_leaves(trace.output)]
    shapes = _pair_sizes(outputs, wanted)
    if shapes is None:
        return []
    accepted_trials: list[Trial] = []
    for sizes in _iter_candidates(shapes, domain):
        trial = trials.at(sizes)
        if trial.taken and _has_wanted_shape(trial, wanted, sizes):
            accepted_trials.append(trial)
        if len(accepted_trials) == MOST_EXAMPLES:
            break
    return accepted_trials


def _pair_sizes(
    outputs: Sequence[tuple[int, ...]], wanted: Sequence[Wanted]
) -> list[tuple[int, int | str]] | None:
    """Pair every size of the output with the wanted size; None if the ranks differ."""
    if len(wanted) > len(outputs):
        return None
    pairs: list[tuple[int, int | str]] = []
    for shape, want in zip(outputs, wanted, strict=False):
        if len(shape) != len(want):
            return None
        pairs += zip(shape, want, strict=True)
    return pairs


def _iter_candidates(
    pairs: Sequence[tuple[int, int | str]], domain: Domain
) -> Iterator[dict[str, int]]:
    """Yield sizes at which the output's formulas equal the wanted sizes."""
    base = domain.witness.sizes
    numbers = [(size, want) for size, want in pairs if isinstance(want, int)]
    for size, want in numbers:
        if not isinstance(size, Size) and int(size) != want:
            return
    formulas = [(s.formula, w) for s, w in numbers if isinstance(s, Size)]
    letters = {name for formula, _ in formulas for name in formula.letters()}
    options: dict[str, list[int]] = {}
    for name in letters & set(base):
        alone = [(f, w) for f, w in formulas if f.letters() == {name}]
        if alone:
            options[name] = [
                size
                for size in range(1, LARGEST_WANTED)
                if all(f.value({name: size}) == w for f, w in alone)
            ]
        else:
            options[name] = _get_sizes_near(base[name])
    names = list(options)
    for chosen in islice(every(*[options[name] for name in names]), LOOKED_AT):
        sizes = {**base, **dict(zip(names, chosen, strict=True))}
        fits = all(formula.value(sizes) == want for formula, want in formulas)
        if fits and domain.takes(sizes):
            yield sizes


def _get_sizes_near(size: int) -> list[int]:
    """Return sizes to try for a letter that no wanted size determines alone."""
    return sorted(range(1, 512), key=lambda other: abs(other - size))


def _has_wanted_shape(
    trial: Trial, wanted: Sequence[Wanted], sizes: Mapping[str, int]
) -> bool:
    """Return whether the output of a trial has the wanted shape."""
    outputs = [fact.shape for fact in collect_leaves(trial.trace.output)]
    for shape, want in zip(outputs, wanted, strict=False):
        for size, wanted_size in zip(shape, want, strict=True):
            if isinstance(wanted_size, int) and size != wanted_size:
                return False
            if (
                isinstance(wanted_size, str)
                and wanted_size in sizes
                and size != sizes[wanted_size]
            ):
                return False
    return True


MOST_RUNS = 90
"""Runs that are spent on the search."""

LARGEST_TRIED = 400
"""Sizes of a letter at which two formulas are compared."""

ROUND = (*range(1, 33), *range(40, 513, 8))
"""Sizes of two letters that are tried together."""


def find_witness(trials: Trials) -> Trial | None:
    """Return the first accepted trial, at usual sizes or found by following refusals,
    or None.
    """
    first = trials.at(trials.runner.usual)
    if first.taken:
        return first
    for sizes in iter_other_sizes(trials.runner.usual):
        trial = trials.at(sizes)
        if trial.taken:
            return trial
    return _Search(trials).found()


class _Search:
    """Searches, from the trial that got furthest, for sizes that fit its refused
    call.
    """

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.letters = trials.runner.free
        self.opened: set[int] = set()
        self.better: list[Trial] = []

    def found(self) -> Trial | None:
        """Return an accepted trial, or None."""
        for sizes in self.around(self.trials.runner.usual):
            if self.trials.at(sizes).taken:
                return self.trials.at(sizes)
        while self.trials.count < MOST_RUNS:
            trial = self.furthest()
            if trial is None:
                return None
            self.opened.add(id(trial))
            taken = self.follow(trial)
            if taken is not None:
                return taken
        return None

    def follow(self, trial: Trial) -> Trial | None:
        """Try sizes that may fit a trial's refused call, until some are accepted or get
        further.
        """
        call = self.call(trial)
        for sizes in self.steps(trial, call):
            if self.trials.count >= MOST_RUNS:
                return None
            new = tuple(sizes[name] for name in self.letters) not in self.trials.made
            next_trial = self.trials.at(sizes)
            if next_trial.taken:
                return next_trial
            further = _count_calls(next_trial), _count_equal_pairs(call, sizes)
            if new and further > (
                _count_calls(trial),
                _count_equal_pairs(call, trial.sizes),
            ):
                self.better.append(next_trial)
                return None
        return None

    def around(self, usual: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """Yield sizes with one letter larger, so that formulas can be fitted."""
        for name, size in usual.items():
            for other in (size + 1, size + 4, size * 2):
                yield {**usual, name: other}

    def furthest(self) -> Trial | None:
        """Return the trial to follow: the last improvement, or else the one that got
        furthest.
        """
        if self.better:
            return self.better.pop()
        left = [trial for trial in self.trials.all if id(trial) not in self.opened]
        return max(left, key=_count_calls, default=None)

    def call(self, trial: Trial) -> RefusedSizes:
        """Return the inputs of the refused call of a trial, as formulas."""
        alike = [
            other
            for other in self.trials.all
            if trial.refusal is not None
            and other.refusal is not None
            and other.refusal.place == trial.refusal.place
        ]
        return fit_refused_call(self.letters, [trial, *alike], self.trials.all)

    def steps(self, trial: Trial, call: RefusedSizes) -> Iterator[dict[str, int]]:
        """Yield sizes at which the refused call of a trial may fit."""
        yield from self.fitting(trial, call)
        for name in self.letters:
            yield from ({**trial.sizes, name: trial.sizes[o]} for o in self.letters)
        if len(self.letters) == 1 or not call.sizes:
            for name in self.letters:
                yield from ({**trial.sizes, name: size} for size in range(1, 33))

    def fitting(self, trial: Trial, call: RefusedSizes) -> Iterator[dict[str, int]]:
        """Yield the nearest sizes of one letter that make a pair of the call equal.

        Where no letter does it alone, two are moved: an image of 224 x 448 in patches
        of 16 is 392 of them, and no height is, beside the width that was tried.
        """
        for left, right in dict.fromkeys([*call.stated, *call.pairs]):
            names = sorted(left.letters() | right.letters())
            alone = [
                moved
                for name in names
                for moved in self.equal(trial.sizes, left, right, name)
            ]
            yield from alone
            for pair in () if alone else combinations(names, 2):
                yield from self.equal_together(trial.sizes, left, right, pair)

    def equal(
        self, sizes: Mapping[str, int], left: Expression, right: Expression, name: str
    ) -> Iterator[dict[str, int]]:
        """Yield up to three sizes of a letter at which two formulas are equal."""
        now = sizes[name]
        fits = []
        for size in range(1, LARGEST_TRIED):
            moved = {**sizes, name: size}
            if left.value(moved) == right.value(moved):
                fits.append(size)
        fits.sort(key=lambda size: abs(size - now))
        yield from ({**sizes, name: size} for size in fits[:3])

    def equal_together(
        self,
        sizes: Mapping[str, int],
        left: Expression,
        right: Expression,
        names: tuple[str, str],
    ) -> Iterator[dict[str, int]]:
        """Yield up to three sizes of two letters at which two formulas are equal.

        The most nearly square come first, and of these the largest: a round number
        where a formula rounds down or up to it.
        """
        fits = []
        for pair in product(ROUND, repeat=2):
            moved = {**sizes, **dict(zip(names, pair, strict=True))}
            if left.value(moved) == right.value(moved):
                fits.append(pair)
        fits.sort(key=lambda pair: (max(pair) / min(pair), -min(pair)))
        for pair in fits[:3]:
            yield {**sizes, **dict(zip(names, pair, strict=True))}


def _count_calls(trial: Trial) -> int:
    """Return how many calls a trial made."""
    return len(trial.sample.keys) if trial.sample is not None else 0


def _count_equal_pairs(call: RefusedSizes, sizes: Mapping[str, int]) -> int:
    """Return how many pairs of a call are equal at these sizes."""
    return sum(left.value(sizes) == right.value(sizes) for left, right in call.pairs)
