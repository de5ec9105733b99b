"""Find calls of `F.dropout` that `eval()` does not switch off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import DROPOUT_ALWAYS_ON, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import is_starred
from shapewright.record.ops import Op

DROPOUTS = operators_with("drops_elements")


@looks_for(DROPOUT_ALWAYS_ON)
def find_constant_dropout(scene: HazardContext) -> Iterator[Finding]:
    """Find `F.dropout(x, p)` in a module, without the module's mode."""
    for call in scene.calls:
        if call.name not in DROPOUTS or not call.given(1, "p", default=0.5):
            continue
        if scene.in_user_code(call.op) and _is_without_mode(scene, call.op):
            message = (
                f"{scene.operation(call.op)} drops elements in evaluation too: without"
                " `training=self.training`, `eval()` does not switch it off"
            )
            yield scene.finding(DROPOUT_ALWAYS_ON, call.op, message)


def _is_without_mode(scene: HazardContext, op: Op) -> bool:
    """Return whether a method calls dropout and says nothing of training."""
    text_and_call = scene.program.call_at(op.span)
    if text_and_call is None or is_starred(text_and_call[1]):
        return False
    text, node = text_and_call
    function = text.around(node, ast.FunctionDef)
    words = {word.arg for word in node.keywords}
    return (
        function is not None
        and isinstance(text.parent(function), ast.ClassDef)
        and "training" not in words
        and len(node.args) < 3
    )
