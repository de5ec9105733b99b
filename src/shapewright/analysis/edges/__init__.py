"""Find failures at sizes other than those the user gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shapewright.analysis.edges.failing_sizes import (
    check_batch,
    check_sequence,
    check_sides,
    get_batch_requests,
    get_larger_requests,
    get_sequence_requests,
)
from shapewright.analysis.edges.other_runs import (
    EdgeContext,
    Free,
    Letters,
    Request,
    RunOutcome,
    Runs,
    add_sizes,
    compute_run_budget,
    find_free_dims,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BATCH_HARD_CODED,
    LOST_DIM,
    list_lookers,
    looks_for,
)
from shapewright.findings.finding import Finding, Severity

Make = Callable[[Sequence[Request]], Sequence[RunOutcome | None]]


def find_edge_failures(
    program: Program, make: Make, letters: Letters = ()
) -> list[Finding]:
    """Find failures with a batch of 1, with odd sizes, and in the other mode.

    `make` runs the program at other sizes; `letters` are those of the spec.
    """
    free = find_free_dims(HazardContext(program), letters)
    if not free:
        return []
    runs = Runs(make, compute_run_budget(len(program.trace.ops)))
    context = EdgeContext(program, free, runs)
    return [
        finding for looker in list_lookers("edge") for finding in looker.find(context)
    ]


@looks_for(BATCH_HARD_CODED, LOST_DIM)
def find_failing_sizes(context: EdgeContext) -> Iterator[Finding]:
    """Find what fails at other sizes; findings have the codes of this check or of the
    failed calls.

    The other mode is checked first; a failure there is reported once, without sizes.
    """
    program, free, runs = context.program, context.free, context.runs
    training = program.trace.training
    other = Request((), not training)
    batch, steps, sides = _split_dims(free)
    wanted = [other]
    for dim in batch:
        wanted += get_batch_requests(dim)
    for dim in steps:
        wanted += get_sequence_requests(dim)
    runs.ask([*wanted, *get_larger_requests(sides)])
    if runs.at(other).state == "fails":
        severity: Severity = "warning" if training else "note"
        cause = runs.cause(other)
        yield from [add_sizes(cause, severity, (), not training)] if cause else []
        return
    for dim in batch:
        yield from check_batch(dim, runs, program)
    for dim in steps:
        yield from check_sequence(dim, runs, program)
    if sides:
        yield from check_sides(sides, runs, program)


def _split_dims(free: list[Free]) -> tuple[list[Free], list[Free], list[Free]]:
    """Split the free dims into batch, sequence lengths and image sides."""
    batch = [free_dim for free_dim in free if free_dim.role == "batch"]
    steps = [free_dim for free_dim in free if free_dim.role == "sequence"]
    return (
        batch,
        steps,
        [free_dim for free_dim in free if free_dim not in (*batch, *steps)],
    )
