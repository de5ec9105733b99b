"""The failure of a real run, met again without data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from shapewright.reasoning.explaining import of_failure
from shapewright.reasoning.program import Program, kept
from shapewright.rules.needs.failure import Failure
from shapewright.source.span import Span

if TYPE_CHECKING:
    from shapewright.runtime.real_errors.second_run import Again, Place, Run

SECONDS = 10.0
"""A child that answers nothing for so long is ended: it runs the program's own code."""
OF_DTYPES = re.compile(r"type|half|float|double|long|int|bool|char|byte|complex", re.I)
"""What torch says, one or the other, where it refuses a dtype."""
OF_VALUES = re.compile(r"out of (range|bound)|index|smaller than|negative", re.I)
"""The same where it refuses the value of an index."""


@dataclass(frozen=True, slots=True)
class Met:
    """The failure of the real run, met again. `every`: in a child process, with the
    program's own code."""

    place: Place
    again: Again
    program: Program
    every: bool = False

    @property
    def failure(self) -> Failure:
        """The call that failed."""
        return self.program.failures[0]


def met_again(place: Place, error: BaseException) -> Met | None:
    """The first of the ways to run it again that fails as the real run did."""
    from shapewright.runtime.real_errors.second_run import (
        apart,
        layers_again,
        lines_again,
        may_fork,
        own_again,
    )
    from shapewright.runtime.real_errors.tracebacks import may_be_torchs

    own = list(own_again(place))
    needs_own = False
    for again in (*own, *layers_again(place), *lines_again(place)):
        run = again.run(quick=True)
        needs_own = needs_own or (run.own and again in own)
        program = program_of(place, run)
        if program is not None and is_same(program, again.at, error):
            return Met(place, again, with_repairs(place, again, program))
    needs_own = needs_own and may_be_torchs(error) and may_fork()
    for again in own if needs_own else ():
        (program,) = apart([partial(run_apart, place, again)], SECONDS)
        if program is not None and is_same(program, again.at, error, sizes=True):
            return Met(place, again, program, True)
    return None


def with_repairs(place: Place, again: Again, program: Program) -> Program:
    """The run once more, with all that repairs the call looked for.

    That is hundreds of tries: of what makes many calls itself, too long to wait for.
    """
    many = len(program.trace.ops) > FEW or any(
        op.name == MANY for op in program.trace.ops
    )
    if many or not program.failures:
        return program
    whole = program_of(place, again.run())
    return whole if whole is not None and whole.failures else program


FEW = 8
"""Calls of torch in one that is tried hundreds of times."""
MANY = "F.multi_head_attention_forward"
"""One call for the program, some thirty for torch."""


def run_apart(place: Place, again: Again) -> Program | None:
    """A run with the program's own code, fit to be sent."""
    program = program_of(place, again.run(every=True))
    return None if program is None else kept(program)


def program_of(place: Place, run: Run) -> Program | None:
    """What is reasoned about: the run, and where the layers of its calls were built."""
    trace = run.trace
    if trace is None:
        return None
    paths = {call.path for call in trace.calls}
    if run.failures:
        states = Program(trace).states
        facts = trace.ops[run.failures[0].op].inputs
        owners = [states.get(fact.tensor, "").rpartition(".") for fact in facts]
        paths |= {path for path, dot, _ in owners if dot}
    built = place.owner.built(sorted(paths))
    return Program(trace, run.failures, built, place.owner.sources())


def is_same(
    program: Program, at: Span, error: BaseException, sizes: bool = False
) -> bool:
    """Whether the first failure of a run is that of the real run.

    It stands at the same place; what it is about is what torch spoke of. With `sizes`,
    or where sizes may rest on values that were drawn anew, torch's words have the same
    numbers.
    """
    said = str(error)
    if not program.failures:
        found = program.trace.findings[:1]
        return any(each.code == DEVICES for each in found) and "device" in said
    failure = program.failures[0]
    span = program.trace.ops[failure.op].span
    if span != at and not is_line_of(span, at):
        return False
    finding = of_failure(program, failure)
    drawn = any(DRAWS.search(op.name) for op in program.trace.ops)
    sizes = sizes or drawn or bool(program.trace.assumptions)
    if sizes and numbers(failure.torch_message) != numbers(said):
        return False
    if finding.code == "dtype-mismatch" and not OF_DTYPES.search(said):
        return False
    if failure.unmet is not None:
        return True
    if finding.code == "index-out-of-range" and not OF_VALUES.search(said):
        return False
    return bool(failure.repairs) and type(error).__name__ == failure.error


DRAWS = re.compile(r"rand|item|tolist|nonzero|unique|multinomial|masked_select|sample")
"""Operators whose answer may decide a size, and be another a second time."""


def is_line_of(span: Span | None, at: Span) -> bool:
    """Whether a span is the line of a place, where Python keeps no columns."""
    if span is None or (span.column, span.end_column) != (1, 1):
        return False
    return span.file == at.file and at.line <= span.line <= at.end_line


DEVICES = "mixed-devices"


def numbers(text: str) -> list[str]:
    """The numbers in a text."""
    return sorted(re.findall(r"\d+", text))
