"""Numbers that are indexed as vectors of one element, as an environment does with an
action, where a squeeze took their only dim from the whole batch.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import is_installed
from shapewright.record.ops import Op

SCALAR = re.compile(
    r"invalid index to scalar variable|invalid index of a 0-dim tensor|"
    r"'(?:numpy\.)?(?:float|int)\d*' object is not subscriptable"
)
DROPPING = operators_with("regroups_dims") | {"squeeze"}
"""Methods that may take a dim of size 1 from a batch."""
FARTHEST = 40
"""Calls before an error that are looked at."""


def find_scalar_item(program: Program, finding: Finding) -> Explanation | None:
    """Return which call took the dim that is indexed, or None."""
    place = program.node(finding.span)
    if not SCALAR.search(finding.words) or place is None:
        return None
    for op in reversed(program.trace.ops[-FARTHEST:]):
        dropped = _find_dropped(program, op)
        if dropped is None:
            continue
        text, call, owner = dropped
        before, after = format_shape(op.inputs[0]), format_shape(op.outputs[0])
        indexed = place[0].line_of(place[1])
        message = (
            f"`{indexed}` indexes a number: `{join_lines(text.written(call))}` took the"
            f" dim of each row, {after} of {before}"
        )
        related = (Related(text.span(call), "the dim is taken here"),)
        cut = text.span(owner).end.until(text.span(call))
        shown = f"`{join_lines(text.written(owner))}` without `{text.at(cut)}`"
        return Explanation(message, related, (Fix("fits", shown, (Edit(cut, ""),)),))
    return None


def _find_dropped(
    program: Program, op: Op
) -> tuple[SourceText, ast.Call, ast.expr] | None:
    """Return the call of a method that makes (rows,) of (rows, 1), with its owner."""
    place = program.call_at(op.span)
    if op.name.rpartition(".")[2] not in DROPPING or place is None or not op.inputs:
        return None
    rows = op.outputs[0].shape if op.outputs else ()
    owner = get_receiver(place[1])
    if len(rows) != 1 or op.inputs[0].shape != (*rows, 1) or owner is None:
        return None
    is_own = not is_installed(place[0].file) and place[0].written(owner) != "torch"
    return (*place, owner) if is_own else None
