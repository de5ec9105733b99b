"""Determine by single runs which sizes a program accepts, and find the inputs of a
refused call as formulas in the letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shapewright.analysis.formulas.call_formulas import Work, cut_sample
from shapewright.commands.solve.runs import Runner, SizedRun
from shapewright.findings.codes import TORCH_ERROR
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span
from shapewright.record.trace import Trace
from shapewright.sizes.expressions import Expression, number, product

if TYPE_CHECKING:
    from shapewright.engine.recipes.recipe import Sample


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where and why a program refused its inputs.

    `call` is the place of the refused call in the run's sample, None for an error that
    the program's own Python raised. `has` and `needs` are two sizes that were to fit.
    """

    span: Span | None
    code: str
    message: str
    torch_message: str
    call: int | None = None
    has: int | None = None
    needs: int | None = None
    failure: Failure | None = None

    @property
    def place(self) -> tuple[Any, ...]:
        """Return the key that refusals of the same demand share."""
        if self.span is None:
            return (self.code,)
        return self.span.file, self.span.line


@dataclass(frozen=True, slots=True)
class Trial:
    """A run: its sizes, its result, and, if it was refused, the place of the
    refusal.
    """

    sizes: dict[str, int]
    sample: Sample | None
    trace: Trace
    refusal: Refusal | None

    @property
    def recorded(self) -> Sample:
        """Return the sample of a run that is known to have one."""
        assert self.sample is not None
        return self.sample

    @property
    def taken(self) -> bool:
        """Return whether the program accepted these sizes."""
        return self.refusal is None


class Trials:
    """Runs of a program that continue after torch's refusals, to see both sides."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.made: dict[tuple[int, ...], Trial] = {}

    @property
    def count(self) -> int:
        """Return the number of runs."""
        return len(self.made)

    def at(self, sizes: Mapping[str, int]) -> Trial:
        """Return the trial at these sizes."""
        key = tuple(sizes[name] for name in self.runner.free)
        trial = self.made.get(key)
        if trial is None:
            run = self.runner.at(sizes)
            trial = self.made[key] = _build_trial(
                run, self.runner.failures.get(key, [])
            )
        return trial

    @property
    def all(self) -> list[Trial]:
        """Return every trial, in order."""
        return list(self.made.values())


def _build_trial(run: SizedRun, failures: list[Failure]) -> Trial:
    """Return the trial of a run; only its first failure counts."""
    if not failures and run.accepted:
        return Trial(run.sizes, run.sample, run.trace, None)
    if not failures:
        finding = run.trace.findings[-1]
        refusal = Refusal(
            finding.span, finding.code, finding.message, finding.torch_message
        )
        return Trial(run.sizes, run.sample, run.trace, refusal)
    first = failures[0]
    op = run.trace.ops[first.op]
    unmet = first.unmet
    refusal = Refusal(
        op.span,
        unmet.code if unmet else TORCH_ERROR,
        unmet.message if unmet else first.torch_message,
        first.torch_message,
        first.op,
        _parse_whole(unmet.has) if unmet else None,
        _parse_whole(unmet.needs) if unmet else None,
        first,
    )
    return Trial(run.sizes, cut_sample(run.recorded, first.op), run.trace, refusal)


def _parse_whole(value: object) -> int | None:
    """Return an integer unchanged, or None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


Pair = tuple[Expression, Expression]

ALIKE, OTHERS = 12, 28
"""Runs that formulas are fitted from: refused at the same place, and others."""


@dataclass(frozen=True, slots=True)
class RefusedSizes:
    """The sizes of a refused call.

    `sizes` depend on letters; `pairs` stand one over the other in two tensors;
    `stated` are the two that the call itself says do not fit.
    """

    sizes: tuple[Expression, ...] = ()
    pairs: tuple[Pair, ...] = ()
    stated: tuple[Pair, ...] = ()


def fit_refused_call(
    letters: Sequence[str], refusals: Sequence[Trial], trials: Sequence[Trial]
) -> RefusedSizes:
    """Return the formulas of the inputs of a refused call, fitted to many runs."""
    first = next((trial for trial in refusals if _has_call(trial)), None)
    if first is None or first.refusal is None or first.refusal.call is None:
        return RefusedSizes()
    alike = [trial for trial in refusals if trial is not first and trial.sample]
    others = [t for t in trials if t.sample and t is not first and t not in alike]
    others.sort(key=lambda trial: (not trial.taken, -_count_different(trial)))
    alike.sort(key=lambda trial: -_count_different(trial))
    chosen = [first, *alike[:ALIKE], *others[:OTHERS]]
    work = Work([trial.recorded for trial in chosen])
    work.done()
    known = set(letters)
    dims = [
        tuple(e if e is not None and e.letters() <= known else None for e in shape)
        for shape in work.entering(first.refusal.call)
    ]
    flat = dict.fromkeys(e for shape in dims for e in shape if e is not None)
    sizes = [formula for formula in flat if formula.letters()]
    for shape in dims[:1]:
        for last in (shape, shape[1:], shape[2:]):  # all elements, those of one image
            known_dims = [size for size in last if size is not None]
            whole = product(known_dims)
            if len(known_dims) == len(last) and whole.letters() and whole not in sizes:
                sizes.append(whole)
    constants = [formula for formula in flat if not formula.letters()]
    return RefusedSizes(
        tuple(sizes),
        tuple(_pair_from_end(dims)),
        tuple(_find_stated_sizes(sizes, constants, [first, *alike])),
    )


def _count_different(trial: Trial) -> int:
    """Return how many different sizes a trial has: letters of equal size cannot be told
    apart.
    """
    return len(set(trial.sizes.values()))


def _has_call(trial: Trial) -> bool:
    """Return whether a trial was refused at a call that is known."""
    refusal = trial.refusal
    return refusal is not None and refusal.call is not None and bool(trial.sample)


def _pair_from_end(dims: Sequence[tuple[Expression | None, ...]]) -> list[Pair]:
    """Pair the sizes of two tensors from the last dim on."""
    pairs: list[Pair] = []
    for left, right in combinations(dims, 2):
        for a, b in zip(reversed(left), reversed(right), strict=False):
            if a is not None and b is not None and a != b:
                pairs.append((a, b))
    return list(dict.fromkeys(pairs))


def _find_stated_sizes(
    sizes: Sequence[Expression], constants: Sequence[Expression], alike: Sequence[Trial]
) -> list[Pair]:
    """Return the refused calls' actual and expected sizes as formulas, if known."""
    seen = [
        (trial.sizes, trial.refusal.has, trial.refusal.needs)
        for trial in alike
        if trial.refusal is not None
        and trial.refusal.has is not None
        and trial.refusal.needs is not None
    ]
    if not seen:
        return []

    def meaning(at: int) -> list[Expression]:
        values = [case[at] for case in seen]
        plain = [number(values[0])] if len(set(values)) == 1 else []  # type: ignore[arg-type]
        fitting = [
            size
            for size in sizes
            if all(size.value(case[0]) == case[at] for case in seen)
        ]
        return fitting or plain

    return [(has, needs) for has in meaning(1) for needs in meaning(2) if has != needs][
        :4
    ]
