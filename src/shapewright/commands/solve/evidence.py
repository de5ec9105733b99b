"""The evidence on a program: what runs and derived samples show, and at which sizes.

A derived sample works out the calls of one watched run again, by rules, at sizes at
which the program was not run. What Python made of unseen sizes is constant there, so a
derived sample counts only where it agrees, call by call, with plain runs at other
sizes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

from shapewright.analysis.formulas.branch_points import Turn
from shapewright.analysis.formulas.call_formulas import Dims, Fitted
from shapewright.commands.solve.runs import Runner, SizedRun, Watched, has_same_result
from shapewright.commands.solve.sample_sizes import (
    FAR,
    Lattice,
    find_first_accepted,
    is_batch,
    spread_sizes,
)
from shapewright.record.formulas import Branch
from shapewright.sizes.formula_fits import Fitter

if TYPE_CHECKING:
    from shapewright.commands.solve.runs import Feeding
    from shapewright.engine.recipes.recipe import Recipe, Sample


Sizes = Mapping[str, int]
PARTS = ("keys", "taken", "given", "steps", "numbers")


class _Derived:
    """The samples of a recipe, computed once for every combination of sizes."""

    def __init__(self, recipe: Recipe, base: SizedRun, feeding: Feeding) -> None:
        self.recipe = recipe
        self.base = base
        self.feeding = feeding
        self.made: dict[tuple[int, ...], Sample] = {}
        self.classes: list[Any] = []

    def work_out(self, wanted: Iterable[Sizes]) -> bool:
        """Compute samples at several sizes at once, after checking the sizes of the run
        itself.

        False where the rules do not answer what the run did, at its own sizes.
        """
        from shapewright.engine.recipes.recipe import Underivable
        from shapewright.engine.recipes.replay import Deriving

        base = self.base
        fresh = {_get_key(wanted_sizes): dict(wanted_sizes) for wanted_sizes in wanted}
        fresh = {
            key: letter_sizes
            for key, letter_sizes in fresh.items()
            if key not in self.made
        }
        if not fresh:
            return True
        sizes = [dict(base.sizes), *fresh.values()]
        shapes = [self.feeding.shapes(size) for size in sizes]
        deriving = Deriving(self.recipe, base.recorded.keys, shapes)
        try:
            derived_samples = deriving.samples(sizes)
        except Underivable:
            return False
        self.made |= dict(zip(fresh, derived_samples[1:], strict=True))
        own = deriving.classes
        pairs = list(zip(self.classes, own, strict=True)) if self.classes else own
        numbers: dict[Any, int] = {}
        self.classes = [numbers.setdefault(pair, len(numbers)) for pair in pairs]
        return True

    def at(self, sizes: Sizes) -> Sample:
        """Return the sample at these sizes, up to where it leaves the path of the base
        run.
        """
        self.work_out([sizes])
        return self.made[_get_key(sizes)]

    def full(self, sample: Sample) -> bool:
        """Return whether a sample follows the path of the base run to its end."""
        return len(sample.keys) == len(self.base.recorded.keys)

    @property
    def samples(self) -> list[Sample]:
        """Return all computed samples."""
        return list(self.made.values())

    @property
    def complete(self) -> list[Sample]:
        """Return the samples that reach the end."""
        return [sample for sample in self.made.values() if self.full(sample)]

    def agrees(self, run: SizedRun) -> bool:
        """Return whether a plain run agrees with the sample derived for its sizes."""
        if run.sample is None or not self.work_out([run.sizes]):
            return False
        mine = self.at(run.sizes)
        if self.full(mine) and not run.accepted:
            return False
        if self.full(mine) and len(run.sample.keys) != len(mine.keys):
            return False
        count = min(len(mine.keys), len(run.sample.keys))
        return all(
            getattr(mine, part)[:count] == getattr(run.sample, part)[:count]
            for part in PARTS
        )


def _get_key(sizes: Sizes) -> tuple[int, ...]:
    """Return the lookup key of a sample."""
    return tuple(sizes.values())


def derive_samples(recipe: Recipe, base: SizedRun, feeding: Feeding) -> _Derived | None:
    """Return the samples of a recipe, or None if it has inputs other than the specs."""
    shapes = [tuple(map(int, shape)) for shape in feeding.shapes(base.sizes)]
    if shapes != [info.meta.shape for info in recipe.given]:
        return None
    return _Derived(recipe, base, feeding)


FEW, MANY = 12, 24
"""Runs for one or two letters, and for more."""

MANY_SIZES, NEAR, EVERY = 12, 6, 256
"""Sizes at which rules are asked: at random, from the least on, and each size of a
range or of a letter at most."""


class Evidence:
    """The runs of a program, and the samples derived by rules.

    A run that is refused shows the sizes of all calls before the one that failed, so
    it is evidence as well; the range is that of the runs that reached their end.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.most = FEW if len(runner.free) <= 2 else MANY
        self.runs: list[SizedRun] = []
        self.base: SizedRun
        self.lattices: dict[str, Lattice] = {}
        self.fitted: Fitted
        self.turns: list[Turn] = []
        self.clipped: list[tuple[str, int, bool]] = []
        self.parted: list[Branch] = []
        self.watched: Watched | None = None
        self.derived: _Derived | None = None
        self.few = False  # rules tell all, so few runs are made
        self.samples: list[Sample] = []

    def begin(self) -> None:
        """Run the base, with its sizes watched from the start if the usual sizes are
        accepted.
        """
        runner = self.runner
        run, watched = runner.watch(runner.usual)
        if run.accepted and watched is not None:
            runner.keep(run)
            self.watched = watched
        self.base = find_first_accepted(runner, self.most)
        if self.base.accepted and self.watched is None:
            self.watch()
        if self.watched is not None and self.watched.seen.recipe is not None:
            recipe = self.watched.seen.recipe
            self.derived = derive_samples(recipe, self.base, runner.feeding)
        self.lattices = {name: Lattice(n, 1) for name, n in self.base.sizes.items()}

    def watch(self) -> None:
        """Watch a run at the sizes of the base; discard it if its result differs."""
        self.watched = None
        for stand_ins in (True, False):
            run, watched = self.runner.watch(self.base.sizes, stand_ins)
            if has_same_result(run, self.base):
                self.watched = watched
                return

    def settle(self) -> None:
        """Rerun a watched base without watching, if no rules are used."""
        if self.derived is None and self.base.watched:
            first = self.base
            self.base = self.runner.again(first.sizes)
            if not has_same_result(first, self.base):
                self.watch()

    def derives(self) -> bool:
        """Return whether the rules reproduce a few runs, and lead to the end
        everywhere.

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
        """Apply the rules at some sizes; drop the rules if they contradict the run."""
        if self.derived is not None and not self.derived.work_out(sizes):
            self.derived = None

    def believed(self) -> bool:
        """Return whether the rules agree with every run; otherwise they are not
        used.
        """
        if self.derived is not None and not all(
            map(self.derived.agrees, self.runner.made.values())
        ):
            self.derived = None
        return self.derived is not None

    def told_at(self, sizes: Sizes) -> bool:
        """Return whether the rules lead to the end at these sizes."""
        return self.derived is not None and self.derived.full(self.derived.at(sizes))

    @property
    def told_by_rules(self) -> list[Sample]:
        """Return the samples that the rules derive to the end."""
        return [] if self.derived is None else self.derived.complete

    def collect(self) -> None:
        """Collect everything that runs and rules have shown so far."""
        if self.derived is not None and not self.believed():
            self.few = False
            self.settle()
            self.scatter()
        runs_by_key = self.runner.made
        others = [run for run in runs_by_key.values() if run is not self.base]
        self.runs = [
            self.base,
            *(r for r in others if r.sample is not None and self.within(r.sizes)),
        ]
        if self.few:  # rules refuse what runs refuse
            self.runs = [run for run in self.runs if run.accepted]
        self.samples = [run.recorded for run in self.runs]
        if self.derived is not None:
            derived_samples = self.derived.made.items()
            self.samples += [
                sample
                for key, sample in derived_samples
                if key not in runs_by_key
                and self.within(sample.letters)
                and (not self.few or self.derived.full(sample))
            ]

    def classes(self) -> Sequence[int]:
        """Return the classes of calls that are equal at all sizes, if all samples are
        complete.
        """
        if self.derived is None or not all(map(self.derived.full, self.samples)):
            return ()
        return self.derived.classes

    @property
    def accepted(self) -> list[SizedRun]:
        """Return the runs that reached their end."""
        runs = self.runner.made.values()
        return [run for run in runs if run.accepted and self.within(run.sizes)]

    def within(self, sizes: Mapping[str, int]) -> bool:
        """Return whether sizes are on the same side of all excluded regions as the
        base.
        """
        return all(
            (sizes[letter] >= size) == above for letter, size, above in self.clipped
        )

    def bounds(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the smallest and the largest accepted size of every letter."""
        names, runs = self.base.sizes, self.accepted
        low = {name: min(run.sizes[name] for run in runs) for name in names}
        high = {name: max(run.sizes[name] for run in runs) for name in names}
        return low, high

    def ends(self) -> None:
        """Run at small and large sizes, where formulas often stop holding."""
        for sizes in self.ends_of():
            self.runner.at(sizes)

    def ends_of(self) -> list[dict[str, int]]:
        """Return sizes with all letters large, and with all letters small."""
        return [
            {name: end(name) for name in self.runner.free}
            for end in (self.large, self.small)
        ]

    def large(self, name: str) -> int:
        """Return a size of a letter far above the first."""
        lattice = self.lattices[name]
        return lattice.at(FAR) if is_batch(name) else lattice.large

    def small(self, name: str) -> int:
        """Return a size of a letter below the first."""
        lattice = self.lattices[name]
        least = is_batch(name) and lattice.step == 1 and lattice.low is None
        return 1 if least else lattice.small

    def scatter(self) -> None:
        """Make the first runs, at sizes far apart."""
        for sizes in islice(spread_sizes(self.lattices), 4 if self.most == FEW else 8):
            self.runner.at(sizes)

    def somewhere(self, draw: random.Random) -> dict[str, int]:
        """Draw random sizes within the range."""
        low, high = self.bounds()
        return {
            name: draw.randrange(low[name], high[name] + 1, max(lattice.step, 1))
            for name, lattice in self.lattices.items()
        }

    def anywhere(self, draw: random.Random) -> dict[str, int]:
        """Draw random sizes between all accepted sizes, on the base's side."""
        accepted_sizes = [
            run.sizes for run in self.runner.made.values() if run.accepted
        ]
        sizes = {}
        for name, lattice in self.lattices.items():
            low = min(run[name] for run in accepted_sizes)
            high = max(run[name] for run in accepted_sizes)
            step = max(lattice.step, 1)
            for letter, size, above in self.clipped:
                if letter == name and above:
                    low = max(low, low + -(-(size - low) // step) * step)
                elif letter == name:
                    high = min(high, size - 1)
            sizes[name] = draw.randrange(low, max(high, low) + 1, step)
        return sizes

    def many(
        self, draw: random.Random, count: int, near: int = 0
    ) -> list[dict[str, int]]:
        """Return sizes of the range: random ones, and the `near` smallest of each
        letter.
        """
        low, _ = self.bounds()
        sizes = [self.somewhere(draw) for _ in range(count)]
        for name, lattice in self.lattices.items():
            for nth in range(near):
                size = low[name] + nth * max(lattice.step, 1)
                sizes.append({**self.somewhere(draw), name: size})
        low, high = self.bounds()
        for same in self.somewhere(draw).values():  # `H == W` is seldom met by chance
            sizes.append({n: draw.choice([2, 3]) if is_batch(n) else same for n in low})
        return [
            point
            for point in sizes
            if all(low[name] <= size <= high[name] for name, size in point.items())
        ]

    def count_of_range(self) -> int:
        """Return the number of size combinations in the range."""
        low, high = self.bounds()
        return prod(
            (high[name] - low[name]) // max(lattice.step, 1) + 1
            for name, lattice in self.lattices.items()
        )

    def all_of_range(self) -> list[dict[str, int]]:
        """Return all size combinations in the range."""
        low, high = self.bounds()
        sizes = [
            range(low[name], high[name] + 1, max(lattice.step, 1))
            for name, lattice in self.lattices.items()
        ]
        names = list(self.lattices)
        return [
            dict(zip(names, combination, strict=True))
            for combination in product(*sizes)
        ]

    def each(self) -> Iterator[dict[str, int]]:
        """Yield the sizes of every letter in the range, at most `EVERY` of each."""
        low, high = self.bounds()
        for name, lattice in self.lattices.items():
            sizes = range(low[name], high[name] + 1, max(lattice.step, 1))
            for size in sizes[:EVERY]:
                yield {**self.base.sizes, name: size}

    def given(self) -> list[Dims]:
        """Return the formulas of the target's input tensors."""
        columns = {
            name: tuple(sample.letters[name] for sample in self.samples)
            for name in self.base.sizes
        }
        fitter = Fitter(columns)
        fed = [self.runner.feeding.shapes(sample.letters) for sample in self.samples]
        shapes = zip(*fed, strict=True)
        dims: list[Dims] = []
        for shape in shapes:
            fits = [fitter.fit(column) for column in zip(*shape, strict=True)]
            dims.append(tuple(fit.formula if fit else None for fit in fits))
        return dims
