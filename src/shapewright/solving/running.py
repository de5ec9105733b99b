"""One program, run at many sizes of its letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapewright.findings.finding import Finding
from shapewright.rules.needs.failure import Failure
from shapewright.trace.guards import Guards
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

    @property
    def accepted(self) -> bool:
        """Whether the program reached its end."""
        return self.trace.complete

    @property
    def failure(self) -> Finding | None:
        """What ended it."""
        return self.trace.findings[-1] if not self.trace.complete else None


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
        self.failures: dict[tuple[int, ...], list[Failure]] = {}

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

    def at(self, sizes: Sizes) -> Run:
        """The run at these sizes of the free letters."""
        key = tuple(sizes[name] for name in self.free)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self.run(dict(zip(self.free, key, strict=True)))
        return found

    def watch(self, run: Run) -> tuple[Guards, Any]:
        """What the program compares sizes with, from one more run of the same sizes.

        And how its calls follow from sizes, or None: see `solving/deriving.py`.
        """
        from shapewright.capture.running import record
        from shapewright.capture.tracked.asking import guards_of

        recipes: list[Any] = []

        def again(watching: Any) -> Trace:
            args, kwargs = self.feeding.arguments(run.sizes)
            settings = self.settings()
            settings.memo, settings.taken = self.memo, self.taken
            settings.guards, settings.sampled = watching, True
            settings.letters = {**self.feeding.letters, **run.sizes}
            made: Trace = record(self.target, args, kwargs, settings)
            recipes.append((watching.recipe, settings.sample))
            return made

        guards = guards_of(again, run.trace)
        recipe, sample = recipes[-1] if recipes else (None, None)
        if guards.reason is not None or sample is None:
            return guards, None
        same = replace(sample, letters=run.sample.letters) == run.sample
        return guards, recipe if same else None

    def run(self, sizes: dict[str, int]) -> Run:
        from shapewright.capture.memo import Memo
        from shapewright.capture.running import Stopped, record
        from shapewright.capture.taking import take

        args, kwargs = self.feeding.arguments(sizes)
        if self.memo is None:
            self.memo = Memo()
            self.taken = take(self.target, args, kwargs)
        settings = self.settings()
        settings.memo, settings.taken = self.memo, self.taken
        settings.sampled = True
        settings.letters = {**self.feeding.letters, **sizes}
        made = record(self.target, args, kwargs, settings)
        for finding in made.findings:
            if finding.code == "timeout":  # for all runs, not for this one
                raise Stopped(finding.message)
        if settings.failures:
            key = tuple(sizes[name] for name in self.free)
            self.failures[key] = list(settings.failures)
        sample, settings.sample = settings.sample, None
        return Run(sizes, made, replace(sample, letters=sizes) if sample else None)
