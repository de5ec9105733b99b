"""Every broadcast that the text does not ask for, for `check --strict`."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.hazards.pointwise import ARITHMETIC, LOSSES
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.program import shape_text


@hazard("implicit-broadcast")
def implicit_broadcasts(scene: Scene) -> Iterator[Finding]:
    """Pointwise calls of the program's own text on tensors of two shapes."""
    for call in scene.calls:
        op = call.op
        if call.name not in ARITHMETIC | LOSSES or len(op.inputs) < 2:
            continue
        one, other = op.inputs[0], op.inputs[1]
        if one.shape == other.shape or not one.shape or not other.shape:
            continue
        if op.span is None or not scene.in_user_code(op):
            continue
        names = scene.names(op)
        out = f" to {shape_text(op.outputs[0])}" if op.outputs[0].shape else ""
        message = f"`{op.name}` broadcasts {names[0]} with {names[1]}{out}"
        yield scene.finding("implicit-broadcast", op, message, severity="note")
