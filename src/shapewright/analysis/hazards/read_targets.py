"""Find decoders that read, at each step, the token that they are to predict there."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import UNSHIFTED_TARGET
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

FARTHEST = 40
"""Calls of one step of a decoder."""
CELLS = operators_with("is_recurrent", "is_recurrent_cell")


def find_read_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find steps that are stacked as scores, of which the first reads the first target
    in an embedding in front of a recurrent cell.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in ("cross_entropy", "nll_loss") or len(call.op.inputs) < 2:
            continue
        target = find_base(scene, call.op.inputs[1])
        stack = scene.maker(find_base(scene, call.op.inputs[0]))
        if call.op.span is None or call.op.span in seen or target.ndim < 2:
            continue
        if stack is None or stack.name not in ("stack", "cat"):
            continue
        read = _find_reader(scene, stack.op.inputs[0], target)
        if read is None:
            continue
        seen.add(call.op.span)
        name = scene.words(call.op)[1]
        message = (
            f"each step of the decoder reads the token of {name} that it is to predict:"
            " the first reads the first target; it is the token before that belongs"
            " there"
        )
        yield scene.finding(
            UNSHIFTED_TARGET, read.op, message, (call.op, "the targets are read here")
        )


def _find_reader(scene: HazardContext, step: Fact, target: Fact) -> OperatorCall | None:
    """Return the embedding that reads the first target for the first step, or None."""
    ancestors = find_ancestors(scene, step, FARTHEST).values()
    if not any(call.name in CELLS for call in ancestors):
        return None
    for call in ancestors:
        if call.name != "embedding" or not call.op.inputs:
            continue
        index = find_base(scene, call.op.inputs[0])
        is_column = index.shape in (target.shape[:1], (target.shape[0], 1))
        is_first = index.storage_offset == target.storage_offset
        if is_column and is_first and index.storage == target.storage:
            return call
    return None
