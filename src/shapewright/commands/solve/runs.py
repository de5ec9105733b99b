"""Run a program at many sizes of its letters, and build the arguments
for these runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapewright.findings.codes import TIMEOUT
from shapewright.findings.finding import Finding
from shapewright.operators.failed_calls import Failure
from shapewright.record.formulas import ModuleNumbers
from shapewright.record.guards import Guards
from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from shapewright.engine.memo import Memo
    from shapewright.engine.recipes.recipe import Sample
    from shapewright.engine.tracked_sizes.comparisons import (
        WatchedCalls,
        Watching,
    )
    from shapewright.inputs.spec import Spec
    from shapewright.program.spans import Span
    from shapewright.runtime.restore.snapshot import Snapshot
    from shapewright.runtime.run_record import RunRequest, RunResult


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Feeding:
    """The arguments of a call, some of them specs.

    `places` says where the specs stand: a position of `args` or a name of `kwargs`,
    with whether that one holds several inputs. `letters` are all letters with their
    sizes, `free` those without a stated one.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    specs: tuple[tuple[int | str, Spec], ...]
    letters: Mapping[str, int]
    free: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the specs as they are written."""
        parts = [
            str(spec) if isinstance(place, int) else f"{place}={spec}"
            for place, spec in self.specs
        ]
        return ", ".join(parts)

    def freed(self) -> Feeding:
        """Return the same arguments, with all letters free."""
        from shapewright.inputs.errors import InputError

        if not self.letters:
            raise InputError(
                "no input has a letter: write sizes that vary as letters,"
                ' as in "f32[B, 3, H, W]"'
            )
        return replace(self, free=tuple(self.letters))

    def sized(self, sizes: Mapping[str, int]) -> list[tuple[int | str, Spec]]:
        """Return the specs at these sizes of the letters."""
        letters = {**self.letters, **sizes}
        return [
            (
                place,
                spec.with_sizes(**{name: letters[name] for name in spec.letters}),
            )
            for place, spec in self.specs
        ]

    def arguments(self, sizes: Mapping[str, int]) -> Arguments:
        """Return the arguments at these sizes of the letters."""
        from shapewright.inputs.spec import make_tensor, materialize_spec

        specs = dict(self.sized(sizes))
        args: list[Any] = []
        named: dict[str, Any] = {}
        for at, value in enumerate(self.args):
            if at not in specs:
                args.append(value)
                continue
            more, by_name = materialize_spec(specs[at], make_tensor)
            args += more
            named |= by_name
        for name, value in self.kwargs.items():
            named[name] = value
            if name in specs:
                named[name] = materialize_spec(specs[name], make_tensor)[0][0]
        return tuple(args), named

    def shapes(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Return the shapes of the tensors in the specs, in order."""
        return [leaf.shape for _, spec in self.sized(sizes) for leaf in spec.leaves]


def from_spec(spec: Spec) -> Feeding:
    """Return the arguments for a spec of all inputs."""
    return Feeding(
        (str(spec),), {}, ((0, spec),), dict(spec.letters), spec.letters_free
    )


def from_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Feeding:
    """Return the arguments of a call; strings among them are specs."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import parse_spec

    specs: list[tuple[int | str, Spec]] = []
    for at, value in enumerate(args):
        if isinstance(value, str):
            specs.append((at, parse_spec(value)))
    for name, value in kwargs.items():
        if isinstance(value, str):
            try:
                spec = parse_spec(value)
            except InputError:
                continue  # a plain string that belongs to the model
            if len(spec.args) == 1 and spec.leaves:
                specs.append((name, spec))
    letters: dict[str, int] = {}
    stated: dict[str, int] = {}
    for _, spec in specs:
        letters |= spec.letters
        stated |= {n: s for n, s in spec.letters.items() if n not in spec.letters_free}
    free = [n for _, spec in specs for n in spec.letters_free if n not in stated]
    return Feeding(
        args, kwargs, tuple(specs), letters | stated, tuple(dict.fromkeys(free))
    )


def build_symbolic_arguments(
    feeding: Feeding, sizes: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, with tensors of symbolic sizes."""
    from shapewright.inputs import spec_syntax
    from shapewright.inputs.spec import map_leaves
    from shapewright.inputs.spec_parser import Written
    from shapewright.runtime.symbolic_run import make_symbolic_input

    letters = {**feeding.letters, **sizes}

    def leaf(value: Any, name: str) -> Any:
        if isinstance(value, Written):
            shape = [spec_syntax.compute_size(size, letters) for size in value.sizes]
            return make_symbolic_input(shape, value.dtype, value.device)
        if isinstance(value, spec_syntax.NamedSize | spec_syntax.Arithmetic):
            return spec_syntax.compute_size(value, letters)
        return value

    def of(spec: Spec) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = spec.written
        named = {name: map_leaves(value, leaf) for name, value in kwargs.items()}
        return [map_leaves(value, leaf) for value in args], named

    specs = dict(feeding.specs)
    args: list[Any] = []
    named: dict[str, Any] = {}
    for place, value in enumerate(feeding.args):
        more, by_name = of(specs[place]) if place in specs else ([value], {})
        args += more
        named |= by_name
    for name, value in feeding.kwargs.items():
        named[name] = of(specs[name])[0][0] if name in specs else value
    return tuple(args), named


Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SizedRun:
    """The result of a run: its trace, and the numbers of its calls."""

    sizes: dict[str, int]
    trace: Trace
    sample: Sample | None
    watched: bool = False

    @property
    def recorded(self) -> Sample:
        """Return the sample of a run that is known to have one."""
        assert self.sample is not None
        return self.sample

    @property
    def accepted(self) -> bool:
        """Return whether the program reached its end."""
        return self.trace.complete

    @property
    def failure(self) -> Finding | None:
        """Return the finding that ended the run."""
        return self.trace.findings[-1] if not self.trace.complete else None


@dataclass(frozen=True, slots=True)
class Watched:
    """The comparisons in a run, and what is known of the run besides its record."""

    guards: Guards
    seen: WatchedCalls


class Runner:
    """Runs a target at sizes of the letters of a spec; each sizes once.

    The runs share what was learnt of the model and the answers to equal calls.
    """

    def __init__(
        self,
        target: Callable[..., Any],
        feeding: Feeding,
        request: RunRequest,
    ) -> None:
        self.target = target
        self.feeding = feeding
        self.request = request
        self.ran = 0
        self.stepped: tuple[Span, ...] = ()  # by the first run
        self.made: dict[tuple[int, ...], SizedRun] = {}
        self.taken: Snapshot | None = None
        self.memo: Memo | None = None
        self.watched = 0
        self.failures: dict[tuple[int, ...], list[Failure]] = {}
        self.modules: dict[str, Any] = {}

    @property
    def free(self) -> tuple[str, ...]:
        """Return the letters without a stated size."""
        return self.feeding.free

    @property
    def usual(self) -> dict[str, int]:
        """Return a usual size for every free letter."""
        return {name: self.feeding.letters[name] for name in self.free}

    @property
    def count(self) -> int:
        """Return the number of runs."""
        return len(self.made)

    @property
    def tried(self) -> int:
        """Return the number of runs, including those that are not kept."""
        return len(self.made) + self.watched

    def at(self, sizes: Sizes) -> SizedRun:
        """Return the run at these sizes of the free letters."""
        key = tuple(sizes[name] for name in self.free)
        run = self.made.get(key)
        if run is None:
            run = self.made[key] = self.run(dict(zip(self.free, key, strict=True)))
        return run

    def watch(
        self, sizes: Sizes, stand_ins: bool = True
    ) -> tuple[SizedRun, Watched | None]:
        """Run with watched sizes, and return what was observed; the run is not kept."""
        from shapewright.engine.tracked_sizes.comparisons import Watching

        watching = Watching(stand_ins, own=True)
        self.watched += 1
        result = self.result(dict(sizes), watching)
        run = SizedRun(dict(sizes), result.trace, result.sample, True)
        if result.guards is None or result.watched is None:
            return run, None
        return run, Watched(result.guards, result.watched())

    def keep(self, run: SizedRun) -> None:
        """Keep a watched run in place of the plain run of its sizes."""
        self.watched -= 1
        self.made[tuple(run.sizes[name] for name in self.free)] = run

    def again(self, sizes: Sizes) -> SizedRun:
        """Make the plain run at sizes where a watched run took its place."""
        self.watched += 1
        key = tuple(sizes[name] for name in self.free)
        self.made[key] = self.run(dict(sizes))
        return self.made[key]

    def numbers(self) -> dict[str, ModuleNumbers]:
        """Return the integers for which the target's modules have names."""
        from shapewright.runtime.model_building import find_numbers

        assert self.taken is not None, "it has not run"
        return find_numbers(self.taken.near)

    def run(self, sizes: dict[str, int]) -> SizedRun:
        """Make a plain run that is not kept."""
        result = self.result(sizes)
        return SizedRun(sizes, result.trace, result.sample)

    def result(
        self, sizes: dict[str, int], watching: Watching | None = None
    ) -> RunResult:
        """Return the result of a single run."""
        from shapewright.engine.failures.run_ends import Stopped
        from shapewright.engine.memo import Memo
        from shapewright.runtime.restore.snapshot import take_snapshot
        from shapewright.runtime.run import record_run

        args, kwargs = self.feeding.arguments(sizes)
        if self.memo is None:
            self.memo = Memo()
            self.taken = take_snapshot(self.target, args, kwargs)
        request = replace(
            self.request,
            memo=self.memo,
            taken=self.taken,
            sampled=True,
            guards=watching,
            letters={**self.feeding.letters, **sizes},
        )
        result = record_run(self.target, args, kwargs, request)
        for finding in result.trace.findings:
            if finding.code == TIMEOUT:  # for all runs, not for this one
                raise Stopped(finding.message)
        if not self.ran:
            self.stepped = result.stepped
        self.ran += 1
        if result.failures:
            key = tuple(sizes[name] for name in self.free)
            self.failures[key] = list(result.failures)
        self.modules.update(result.modules)
        sample = result.sample
        return replace(
            result, sample=replace(sample, letters=sizes) if sample else None
        )


def has_same_result(run: SizedRun, other: SizedRun) -> bool:
    """Return whether two runs of the same sizes have the same result."""
    mine, theirs = run.trace, other.trace
    return (
        run.sample == other.sample
        and mine.complete == theirs.complete
        and mine.findings == theirs.findings
        and mine.assumptions == theirs.assumptions
    )
