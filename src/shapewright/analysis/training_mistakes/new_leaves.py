"""Losses that are made anew before their backward pass: `Variable(loss.data,
requires_grad=True)` has a gradient of its own, and no weight gets any.
"""

from __future__ import annotations

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import NO_GRADIENT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Op
from shapewright.record.report import Optimized

CUTTING = operators_with("leaves_graph", "takes_program_data") | {"requires_grad_"}
LEAF = "its graph is left here"


def find_new_leaf(scene: RehearsalContext, group: Optimized) -> Finding | None:
    """Return the finding on a loss that is a leaf of its own, or None."""
    program = scene.program
    for op in program.trace.ops:
        if op.name.rpartition(".")[2] != "backward" or not op.inputs:
            continue
        maker = program.producers.get(op.inputs[0].tensor)
        if maker is None or maker.name.rpartition(".")[2] not in CUTTING:
            return None
        if maker.span is None or op.span is None:
            return None
        return _report_new_leaf(group, op, maker)
    return None


def _report_new_leaf(group: Optimized, backward: Op, maker: Op) -> Finding:
    message = (
        f"the loss is a new tensor without the graph of the model: none of the"
        f" {group.parameters} parameters of `{group.name}` gets a gradient"
    )
    return build_finding(
        NO_GRADIENT,
        message,
        backward.span,
        (maker.span, LEAF),
    )
