"""Find all mistakes of a training run, except those that the user switched off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from shapewright.analysis.hazards import ignored_here
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes import loss_averages, optimization
from shapewright.analysis.training_mistakes.context import RehearsalContext
from shapewright.findings.finding import Finding
from shapewright.record.report import Rehearsal

KINDS: tuple[Callable[[RehearsalContext], Iterator[Finding]], ...] = (
    optimization.stale_gradients,
    optimization.unused_gradients,
    optimization.kept_graphs,
    optimization.forgotten_parameters,
    optimization.idle_parameters,
    optimization.modes,
    optimization.penalties,
    optimization.kept_states,
    loss_averages.sums,
    optimization.schedules,
)


OF_WHOLE_RUNS = (optimization.forgotten_parameters, optimization.idle_parameters)
"""Kinds of what did not happen until the run ended."""

OF_ERRORS = (optimization.stale_gradients, optimization.kept_graphs)
"""Kinds that an error on the way may bring about."""


def mistakes(
    program: Program, rehearsal: Rehearsal, ignored: Collection[str] = ()
) -> list[Finding]:
    """Return the findings of every kind, without repeating any at the same place."""
    scene = RehearsalContext(program, rehearsal)
    found: dict[object, Finding] = {}
    left_out: tuple[object, ...] = ()
    if program.failures or not program.trace.complete:
        stopped = any(each.code == "timeout" for each in program.trace.findings)
        alone = stopped and not program.failures  # nothing else ended the run
        left_out = OF_WHOLE_RUNS if alone else (*OF_WHOLE_RUNS, *OF_ERRORS)
    for find in KINDS:
        if find in left_out:
            continue
        for each in find(scene):
            if each.code not in ignored and not ignored_here(program, each):
                found.setdefault((each.code, each.span, each.message), each)
    return list(found.values())
