"""Find outputs that a forward hook keeps and that the next layer writes in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import SAME_TENSOR_KEPT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

SHARING = frozenset({"detach", "cpu", "numpy", "float"})
"""Methods whose result shares its memory with an output on the CPU."""
KEEPING = frozenset({"append", "update", "insert", "setdefault"})
REGISTERING = "register_forward_hook"


def find_overwritten_outputs(scene: HazardContext) -> Iterator[Finding]:
    """Find `kept.append(output.detach())` in a hook of a layer whose output a
    `ReLU(inplace=True)` changes.
    """
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name != "detach" or op.span is None or op.span in seen:
            continue
        place = scene.program.call_at(op.span)
        if place is None or not _is_kept_by_hook(*place):
            continue
        write = _find_write(scene, op)
        if write is None:
            continue
        seen.add(op.span)
        name = scene.words(op)[0]
        yield scene.finding(
            SAME_TENSOR_KEPT,
            op,
            f"{name} is kept as it is stored, and {scene.operation(write)} writes into"
            " it afterwards: what is kept are its values behind that",
            (write, "it is written in place here"),
        )


def _find_write(scene: HazardContext, op: Op) -> Op | None:
    """Return the first call behind another one that writes into its result."""
    storage = op.outputs[0].storage
    for user in scene.program.trace.ops[op.index + 1 :]:
        is_write = user.kind == "inplace" and user.inputs and user.span != op.span
        if is_write and user.inputs[0].storage == storage:
            return user
    return None


def _is_kept_by_hook(text: SourceText, call: ast.Call) -> bool:
    """Return whether a forward hook stores what a call returns: the last of its
    parameters, detached.
    """
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    hook: ast.FunctionDef | ast.Lambda | None = text.around(call, ast.FunctionDef)
    hook = text.around(call, ast.Lambda) or hook
    if not isinstance(owner, ast.Name) or hook is None:
        return False
    names = [argument.arg for argument in hook.args.args]
    if len(names) < 3 or names[-1] != owner.id or REGISTERING not in text.text:
        return False
    node: ast.AST = call
    outer = text.parent(node)
    while isinstance(outer, ast.Attribute) and outer.attr in SHARING:
        node = text.parent(outer) or outer
        outer = text.parent(node)
    if isinstance(outer, ast.Assign):
        return isinstance(outer.targets[0], ast.Subscript | ast.Attribute)
    if isinstance(outer, ast.Dict | ast.keyword):
        outer = text.parent(outer)
    return isinstance(outer, ast.Call) and get_called_name(outer) in KEEPING
