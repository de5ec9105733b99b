"""Find lists of one tensor that is written in place, so that all entries are alike."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.hooked_outputs import find_overwritten_outputs
from shapewright.analysis.hazards.loss_terms import JOINS
from shapewright.analysis.hazards.shortcuts import find_overwritten_shortcuts
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import SAME_TENSOR_KEPT, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.record.ops import Op

LEAST = 4
"""Entries that are one tensor before anything is said."""
WRITES = 2
"""Times that one line has written it."""


@looks_for(SAME_TENSOR_KEPT)
def find_reused_tensors(scene: HazardContext) -> Iterator[Finding]:
    """Find tensors that were collected again and again while they were written, and
    outputs that a hook keeps, and shortcuts that are written before they are added.
    """
    yield from find_overwritten_outputs(scene)
    yield from find_overwritten_shortcuts(scene)
    seen: set[object] = set()
    for call in scene.calls:
        inputs = call.op.inputs
        if call.name not in JOINS or len(inputs) < LEAST or call.op.span is None:
            continue
        places = Counter(
            (fact.storage, fact.storage_offset, fact.shape) for fact in inputs
        )
        (place, count), *others = places.most_common()
        is_first_apart = sum(other for _, other in others) == 1  # the initial state
        if others and not (is_first_apart and count >= LEAST):
            continue
        if _is_repeated_on_purpose(scene, call):
            continue
        write = _find_repeated_write(scene, call, place[0])
        if write is None or write.span in seen:
            continue
        seen.add(write.span)
        message = (
            f"this writes into a tensor that is kept in a list: all {count} that"
            f" `{call.name}` joins are this one tensor, with its last values"
        )
        yield scene.finding(
            SAME_TENSOR_KEPT, write, message, (call.op, "they are read here")
        )


def _find_repeated_write(
    scene: HazardContext, call: OperatorCall, storage: int
) -> Op | None:
    """Return the last write to what a call joins, of a line that wrote it before."""
    counts: dict[object, int] = {}
    last = None
    for op in scene.program.trace.ops[: call.op.index]:
        if op.kind != "inplace" or not op.outputs or op.span is None:
            continue
        if op.outputs[0].storage == storage:
            counts[op.span] = counts.get(op.span, 0) + 1
            if counts[op.span] >= WRITES:
                last = op
    return last


def _is_repeated_on_purpose(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the text itself repeats a tensor: `[x] * 4`, `[x for _ in y]`."""
    place = scene.program.call_at(call.op.span)
    if place is None or not place[1].args:
        return True
    text, node = place
    first = node.args[0]
    values = [first]
    if isinstance(first, ast.Name):
        values = [*find_defining(text, first.id)]
    return any(_is_repetition(text, value) for value in values)


def _is_repetition(text: SourceText, value: ast.expr) -> bool:
    """Return whether an expression makes a list that has one thing several times."""
    if isinstance(value, ast.BinOp | ast.ListComp | ast.GeneratorExp):
        return True
    return isinstance(value, ast.List | ast.Tuple) and bool(value.elts)
