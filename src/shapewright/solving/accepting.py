"""Which sizes a program takes: one run each, and where the others end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shapewright.reasoning.formulas.operands import until
from shapewright.rules.needs.failure import Failure
from shapewright.solving.running import Run, Runner
from shapewright.source.span import Span
from shapewright.trace.record import Trace


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where and why a program did not take its inputs.

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
        """What refusals of the same demand share."""
        if self.span is None:
            return (self.code,)
        return self.span.file, self.span.line


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: its sizes, what it showed, and where it was refused, if it was."""

    sizes: dict[str, int]
    sample: Any
    trace: Trace
    refusal: Refusal | None

    @property
    def taken(self) -> bool:
        """Whether the program took these sizes."""
        return self.refusal is None


class Trials:
    """Runs of a program that go past what torch refuses, to see both sides of it."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.made: dict[tuple[int, ...], Trial] = {}

    @property
    def count(self) -> int:
        """How many runs there were."""
        return len(self.made)

    def at(self, sizes: Mapping[str, int]) -> Trial:
        """The trial at these sizes."""
        key = tuple(sizes[name] for name in self.runner.free)
        found = self.made.get(key)
        if found is None:
            run = self.runner.at(sizes)
            found = self.made[key] = trial_of(run, self.runner.failures.get(key, []))
        return found

    @property
    def all(self) -> list[Trial]:
        """Every trial, in order."""
        return list(self.made.values())


def trial_of(run: Run, failures: list[Failure]) -> Trial:
    """A run with the first of its failures; what came after it does not count."""
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
        unmet.code if unmet else "torch-error",
        unmet.message if unmet else first.torch_message,
        first.torch_message,
        first.op,
        whole(unmet.has) if unmet else None,
        whole(unmet.needs) if unmet else None,
        first,
    )
    return Trial(run.sizes, until(run.sample, first.op), run.trace, refusal)


def whole(value: object) -> int | None:
    """A whole number, or nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
