"""Find shortcuts that an activation in place has written before they are added:
`out = self.relu(x)` with `inplace=True`, and `out + x`; and those that nothing adds.

Where the text adds the name that the activation gave, that is what is meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import SUMS
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import RESULT_DROPPED, SAME_TENSOR_KEPT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments


def find_overwritten_shortcuts(scene: HazardContext) -> Iterator[Finding]:
    """Find sums of a name whose tensor an activation has changed in place, under
    another name.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        if call.op.kind != "inplace" or call.op.span in seen or not call.op.inputs:
            continue
        if not call.arguments.get("inplace") or _is_known_already(scene, call):
            continue
        shortcut = _find_shortcut(scene, call)
        if shortcut is None:
            continue
        seen.add(call.op.span)
        user, name = shortcut
        message = (
            f"{scene.operation(call.op)} works in place: it changes `{name}` too, the"
            f" same tensor, and the shortcut adds `{name}` as it is behind"
            f" `{call.name}`"
        )
        where = (user.op, f"`{name}` is added here")
        yield scene.finding(SAME_TENSOR_KEPT, call.op, message, where)


def _is_known_already(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the same activation made the tensor, and now changes nothing."""
    fact, name = call.op.inputs[0], call.name.rstrip("_")
    return any(
        other.op.index < call.op.index
        and other.name.rstrip("_") == name
        and any(out.storage == fact.storage for out in other.op.outputs)
        for other in (
            *scene.writes.get(fact.storage, ()),
            *filter(None, [scene.maker(fact)]),
        )
    )


def _find_shortcut(
    scene: HazardContext, call: OperatorCall
) -> tuple[OperatorCall, str] | None:
    """Return the sum that adds what an activation changed, and the name there."""
    place = scene.program.call_at(call.op.span)
    if place is None or not place[1].args:
        return None
    text, node = place
    argument, statement = node.args[0], text.statement_of(node)
    function = text.around(node, *FUNCTIONS)
    if not isinstance(argument, ast.Name) or function is None:
        return None
    if isinstance(statement, ast.Expr) and statement.value is node:
        return None  # written in place on purpose
    result = ""
    if isinstance(statement, ast.Assign) and statement.value is node:
        result = text.written(statement.targets[0])
    for user in scene.users.get(call.op.inputs[0].tensor, ()):
        if user.name not in SUMS or user.op.index < call.op.index:
            continue
        name = _find_added_name(scene, text, user, call.op.inputs[0].tensor)
        line = user.op.span.line if user.op.span is not None else 0
        if not name or name == result or line < node.lineno:
            continue
        if user.op.module != _get_parent(scene, call):
            continue
        if _is_older_name(function, name, argument.id, (node.lineno, line)):
            return user, name
    return None


def _get_parent(scene: HazardContext, call: OperatorCall) -> str:
    """Return the module whose `forward` calls an activation."""
    layer = scene.program.layer(call.op)
    calls = scene.program.trace.calls
    while layer is not None and layer.parent is not None:
        around = calls[layer.parent]
        if around.span != layer.span:
            return around.path
        layer = around
    return call.op.module


def _find_added_name(
    scene: HazardContext, text: SourceText, user: OperatorCall, tensor: int
) -> str:
    """Return the name under which a sum adds a tensor, of the same file."""
    place = scene.program.node(user.op.span)
    if place is None or place[0].file != text.file:
        return ""
    expressions = find_tensor_expressions(scene.program, user.op)
    for fact, expression in zip(user.op.inputs, expressions, strict=True):
        if fact.tensor == tensor and expression is not None:
            node = expression[0]
            return node.id if isinstance(node, ast.Name) else ""
    return ""


def _is_older_name(
    function: ast.AST, name: str, argument: str, lines: tuple[int, int]
) -> bool:
    """Return whether a name stood for a tensor before an activation got it, and was
    given to nothing else until the sum.
    """
    values = [
        (value, value.lineno)
        for target, value in iter_assignments(function)
        if isinstance(target, ast.Name) and target.id == name
    ]
    if any(lines[0] <= line < lines[1] for _, line in values):
        return False
    before = [value for value, line in values if line < lines[0]]
    if name == argument:
        return True
    last = before[-1] if before else None
    return isinstance(last, ast.Name) and last.id == argument


SHORTCUT = re.compile(r"(residual|identity|shortcut|skip)(_?x|_?input|_?connection)?$")
"""Names of what goes past a block."""
RESIDUAL = re.compile(r"Res|Residual|BasicBlock|Bottleneck")
"""Names of classes that have a shortcut."""


def find_unread_shortcuts(scene: HazardContext) -> Iterator[Finding]:
    """Find `residual = x` that nothing reads, where a block adds nothing, or a tensor
    to itself.
    """
    for text in scene.program.own_texts():
        for name, function in text.functions("forward"):
            if not isinstance(function, ast.FunctionDef):
                continue
            kept = _find_unread(function)
            if kept is None or not has_run(scene.program, text, function):
                continue
            target, sums = kept.targets[0], list(_iter_sums(function))
            written = text.written(target)
            doubled = [node for node in sums if _is_doubled(text, node)]
            if len(doubled) == 1 == len(sums):
                place: ast.expr | ast.stmt = doubled[0]
            elif not sums and RESIDUAL.search(name):
                place = kept
            else:
                continue
            what = "it adds a tensor to itself" if doubled else "it adds nothing"
            yield Finding(
                RESULT_DROPPED,
                "warning",
                f"`{written}` keeps what goes past the block, and nothing reads it:"
                f" {what}",
                text.span(place),
            )


def _find_unread(function: ast.FunctionDef) -> ast.Assign | None:
    """Return the statement that keeps a shortcut which its function never reads."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    for node in function.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        name = target.id if isinstance(target, ast.Name) else ""
        is_unread = bool(SHORTCUT.match(name)) and name not in read
        if is_unread and isinstance(node, ast.Assign):
            return node
    return None


def _iter_sums(function: ast.FunctionDef) -> Iterator[ast.BinOp | ast.AugAssign]:
    """Yield the sums of a function, without those of numbers."""
    for node in ast.walk(function):
        if not isinstance(node, ast.BinOp | ast.AugAssign):
            continue
        if isinstance(node.op, ast.Add):
            yield node


def _is_doubled(text: SourceText, node: ast.BinOp | ast.AugAssign) -> bool:
    """Return whether a tensor is added to itself: `x + x`, `x += x`."""
    left = node.left if isinstance(node, ast.BinOp) else node.target
    right = node.right if isinstance(node, ast.BinOp) else node.value
    return isinstance(left, ast.Name) and text.written(left) == text.written(right)


def has_run(program: Program, text: SourceText, function: ast.FunctionDef) -> bool:
    """Return whether the run has made a call in a function."""
    last = function.end_lineno or function.lineno
    return any(
        op.span is not None
        and op.span.file == text.file
        and function.lineno <= op.span.line <= last
        for op in program.trace.ops
    )
