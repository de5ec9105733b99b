"""Hazards of the calls in front of one that fails: what takes the last sample for the
last layer, or removes the batch, is the cause, and its edit is tried first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.warnings.warning_edits import suggest_edits
from shapewright.analysis.hazards import find_hazards
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BATCH_AXIS,
    CODES,
    LAYOUT,
    LOST_BATCH,
    VIEW_MIXES_DIMS,
    WRONG_AXIS,
)
from shapewright.findings.finding import Finding, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span

OF_DIMS = frozenset({BATCH_AXIS, LOST_BATCH, VIEW_MIXES_DIMS, WRONG_AXIS})
"""Hazards of calls that leave their result with other dims than were meant; some are
told by what looks for a layout.
"""
FOLLOWED = 40
"""Calls in front of a failing one that are looked at."""
MOST_OPERANDS = 8
"""Operands of a call that are followed: a batch is not, to each of its samples."""


def find_hazards_before(program: Program, failure: Failure) -> list[Finding]:
    """Return the hazards of the calls that an operand of a failing call comes from."""
    if failure.of_history:
        return []
    op = program.trace.ops[failure.op]
    waiting, seen, spans = [fact.tensor for fact in op.inputs], set[int](), {op.span}
    while waiting and len(seen) < FOLLOWED:
        tensor = waiting.pop(0)
        maker = program.producers.get(tensor)
        if maker is None or tensor in seen:
            continue
        seen.add(tensor)
        spans.add(maker.span)
        if len(maker.inputs) <= MOST_OPERANDS:
            waiting += [fact.tensor for fact in maker.inputs]
    spans.discard(None)
    return [
        finding
        for finding in find_hazards(program, CODES.keys() - OF_DIMS - {LAYOUT})
        if finding.span in spans and finding.code in OF_DIMS
    ]


def suggest_for_hazards(program: Program, hazards: list[Finding]) -> list[FixOption]:
    """Return what mends the hazards in front of a failing call, as fixes to try."""
    fixes = [fix for finding in hazards for fix in suggest_edits(program, finding)]
    return list(iter_options("hazard", 0.7, fixes))


def add_causes(finding: Finding, hazards: list[Finding], best: Fix | None) -> Finding:
    """Return an error with the hazards that the best of its fixes mends as causes."""
    places = tuple(
        Related(hazard.span, hazard.message)
        for hazard in hazards
        if hazard.span is not None and best is not None and _is_at(hazard.span, best)
    )
    return replace(finding, related=(*places, *finding.related)) if places else finding


def _is_at(span: Span, fix: Fix) -> bool:
    """Return whether a fix changes the text at a span."""
    return any(
        edit.span.file == span.file and span.line <= edit.span.line <= span.end_line
        for edit in fix.edits
    )


def is_told_as_cause(finding: Finding, errors: Iterable[Finding]) -> bool:
    """Return whether a hazard stands among the causes of an error already."""
    return any(
        place.span == finding.span and place.message == finding.message
        for error in errors
        for place in error.related
    )
