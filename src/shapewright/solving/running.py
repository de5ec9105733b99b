"""One program, run at many sizes of its letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapewright.findings.finding import Finding
from shapewright.rules.needs.failure import Failure
from shapewright.trace.guards import Guards
from shapewright.trace.numbers import Numbers
from shapewright.trace.record import Trace

if TYPE_CHECKING:
    from shapewright.solving.feeding import Feeding

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one run: its trace, and the numbers of its calls."""

    sizes: dict[str, int]
    trace: Trace
    sample: Any
    watched: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the program reached its end."""
        return self.trace.complete

    @property
    def failure(self) -> Finding | None:
        """What ended it."""
        return self.trace.findings[-1] if not self.trace.complete else None


@dataclass(frozen=True, slots=True)
class Watched:
    """What a run compared, and what is known of it beside its record."""

    guards: Guards
    seen: Any


class Runner:
    """Runs a target at sizes of the letters of a spec; each sizes once.

    The runs share what was learnt of the model and the answers to equal calls.
    """

    def __init__(
        self,
        target: Callable[..., Any],
        feeding: Feeding,
        settings: Callable[[], Any],
    ) -> None:
        self.target = target
        self.feeding = feeding
        self.settings = settings
        self.made: dict[tuple[int, ...], Run] = {}
        self.taken: Any = None
        self.memo: Any = None
        self.watched = 0
        self.failures: dict[tuple[int, ...], list[Failure]] = {}
        self.modules: dict[str, Any] = {}

    @property
    def free(self) -> tuple[str, ...]:
        """The letters without a stated size."""
        return self.feeding.free

    @property
    def usual(self) -> dict[str, int]:
        """A usual size for each of them."""
        return {name: self.feeding.letters[name] for name in self.free}

    @property
    def count(self) -> int:
        """How many runs there were."""
        return len(self.made)

    @property
    def tried(self) -> int:
        """How many there were, those included that do not stand for their sizes."""
        return len(self.made) + self.watched

    def at(self, sizes: Sizes) -> Run:
        """The run at these sizes of the free letters."""
        key = tuple(sizes[name] for name in self.free)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self.run(dict(zip(self.free, key, strict=True)))
        return found

    def watch(self, sizes: Sizes, stand_ins: bool = True) -> tuple[Run, Watched | None]:
        """A run whose sizes are watched, and what was seen; it is not kept."""
        from shapewright.engine.tracked_sizes.comparisons import Watching

        watching = Watching(stand_ins, own=True)
        self.watched += 1
        run = self.run(dict(sizes), watching)
        if watching.told is None or watching.seen is None:
            return run, None
        return run, Watched(watching.told, watching.seen())

    def keep(self, run: Run) -> None:
        """A run that was watched stands for the plain one of its sizes."""
        self.watched -= 1
        self.made[tuple(run.sizes[name] for name in self.free)] = run

    def again(self, sizes: Sizes) -> Run:
        """The plain run at these sizes, where a watched one stood for it."""
        self.watched += 1
        key = tuple(sizes[name] for name in self.free)
        self.made[key] = self.run(dict(sizes))
        return self.made[key]

    def numbers(self) -> dict[str, Numbers]:
        """The whole numbers that the target's modules have names for."""
        from shapewright.runtime.module_numbers import numbers_of

        return numbers_of(self.taken.near)

    def run(self, sizes: dict[str, int], watching: Any = None) -> Run:
        from shapewright.engine.failures.run_ends import Stopped
        from shapewright.engine.memo import Memo
        from shapewright.runtime.restore.snapshot import take
        from shapewright.runtime.run import record

        args, kwargs = self.feeding.arguments(sizes)
        if self.memo is None:
            self.memo = Memo()
            self.taken = take(self.target, args, kwargs)
        settings = self.settings()
        settings.memo, settings.taken = self.memo, self.taken
        settings.sampled, settings.guards = True, watching
        settings.letters = {**self.feeding.letters, **sizes}
        made = record(self.target, args, kwargs, settings)
        for finding in made.findings:
            if finding.code == "timeout":  # for all runs, not for this one
                raise Stopped(finding.message)
        if settings.failures:
            key = tuple(sizes[name] for name in self.free)
            self.failures[key] = list(settings.failures)
        self.modules.update(settings.modules)
        sample, settings.sample = settings.sample, None
        told = replace(sample, letters=sizes) if sample else None
        return Run(sizes, made, told, watching is not None)


def alike(one: Run, other: Run) -> bool:
    """Whether two runs of the same sizes show the same."""
    mine, theirs = one.trace, other.trace
    return (
        one.sample == other.sample
        and mine.complete == theirs.complete
        and mine.findings == theirs.findings
        and mine.assumptions == theirs.assumptions
    )
