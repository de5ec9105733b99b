"""Find failures at sizes other than those the user gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shapewright.analysis.edges.failing_sizes import (
    beside,
    first_requests,
    first_steps,
    of_batch,
    of_sequence,
    of_sides,
)
from shapewright.analysis.edges.other_runs import (
    Free,
    Letters,
    Request,
    RunOutcome,
    Runs,
    at_sizes,
    budget,
    free_dims,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Finding, Severity

Make = Callable[[Sequence[Request]], Sequence[RunOutcome | None]]


def edges(program: Program, make: Make, letters: Letters = ()) -> list[Finding]:
    """Find failures with a batch of 1, with odd sizes, and in the other mode.

    `make` runs the program at other sizes; `letters` are those of the spec.
    """
    free = free_dims(HazardContext(program), letters)
    if not free:
        return []
    return list(_looked_for(program, free, Runs(make, budget(len(program.trace.ops)))))


def _looked_for(program: Program, free: list[Free], runs: Runs) -> Iterator[Finding]:
    """Check the other mode first; a failure there is reported once, without sizes."""
    training = program.trace.training
    other = Request((), not training)
    batch, steps, sides = _parted(free)
    wanted = [other]
    for each in batch:
        wanted += first_requests(each)
    for each in steps:
        wanted += first_steps(each)
    runs.ask([*wanted, *beside(sides)])
    if runs.at(other).state == "fails":
        severity: Severity = "warning" if training else "note"
        cause = runs.cause(other)
        yield from [at_sizes(cause, severity, (), not training)] if cause else []
        return
    for each in batch:
        yield from of_batch(each, runs, program)
    for each in steps:
        yield from of_sequence(each, runs, program)
    if sides:
        yield from of_sides(sides, runs, program)


def _parted(free: list[Free]) -> tuple[list[Free], list[Free], list[Free]]:
    """Split the free dims into batch, sequence lengths and image sides."""
    batch = [each for each in free if each.role == "batch"]
    steps = [each for each in free if each.role == "sequence"]
    return batch, steps, [each for each in free if each not in (*batch, *steps)]
