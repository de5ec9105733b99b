"""Find results of out-of-place methods that are thrown away: `x.masked_fill(mask, 0)`.

A result that nobody reads is harmless by itself: a warm-up, a check of a shape. So the
tensor that was meant to change must be read afterwards, as it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.copied_parts import find_copied_parts
from shapewright.analysis.hazards.dropped_copies import find_dropped_copies
from shapewright.analysis.hazards.idle_statements import find_idle_statements
from shapewright.analysis.hazards.lost_results import find_lost_results
from shapewright.analysis.hazards.normalized_shortcuts import (
    find_normalized_shortcuts,
)
from shapewright.analysis.hazards.shortcuts import find_unread_shortcuts
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import RESULT_DROPPED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.notebooks import is_notebook
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
)

CHANGING = (
    operators_with("keeps_elements") | operators_with("regroups_dims")
    | operators_with("moves_dims") | operators_with("transposes_dims")
    | operators_with("computes_each_element") | operators_with("moves_device")
    | operators_with("fills_by_mask") | operators_with("writes_by_index")
    | operators_with("keeps_triangle") | operators_with("clamps")
    | operators_with("leads_to_softmax") | operators_with("normalizes_along_dim")
    | operators_with("drops_elements")
)  # fmt: skip
"""Methods and functions that are called for the changed tensor that they return."""
MEASURING = (
    "perf_counter", "time.time", "synchronize", "Timer", "profile", "timeit",
    "benchmark", "warmup", "warm_up", "raises",
)  # fmt: skip
"""What a function has that runs calls for their time, or for their error."""


OF_TRAINING = re.compile(r"\.grad\b|\w\.data$")
"""How gradients and the values of parameters are written."""

OF_MODULES = frozenset({
    "to", "type", "float", "double", "half", "bfloat16", "cuda",
})  # fmt: skip
"""Methods that a module has too, and that change it in place."""
MODULE_METHODS = frozenset({
    "parameters", "named_parameters", "state_dict", "load_state_dict", "train", "eval",
    "children", "modules", "apply",
})  # fmt: skip


@looks_for(RESULT_DROPPED)
def find_dropped_results(scene: HazardContext) -> Iterator[Finding]:
    """Find changed tensors that nobody reads, where the unchanged one is read."""
    yield from find_unread_shortcuts(scene)
    yield from find_normalized_shortcuts(scene.program)
    yield from find_idle_statements(scene.program)
    lines: set[Span] = set()
    for call in scene.calls:
        if call.op.span is None or call.name not in CHANGING or not call.op.inputs:
            continue
        if call.op.kind not in ("new", "copy", "view") or not call.op.outputs:
            continue
        if scene.users.get(call.op.outputs[0].tensor):
            continue
        if _is_of_module(scene, call):
            continue
        receiver = _find_receiver(scene, call)
        if receiver is None:
            continue
        message = (
            f"`{call.name}` returns a new tensor, which is thrown away: `{receiver}`"
            " stays as it was"
        )
        read = _find_later_read(scene, call)
        if read is not None:
            why = f"`{receiver}` is read here, unchanged"
            yield scene.finding(RESULT_DROPPED, call.op, message, (read.op, why))
        elif OF_TRAINING.search(receiver) and call.op.span not in lines:
            lines.add(call.op.span)  # the optimizer reads it, or the next forward pass
            yield scene.finding(RESULT_DROPPED, call.op, message)
    yield from _find_overwritten_results(scene)
    yield from _find_unreturned_outputs(scene)
    yield from find_lost_results(scene.program)
    yield from find_dropped_copies(scene.program)
    yield from find_copied_parts(scene)


def _find_unreturned_outputs(scene: HazardContext) -> Iterator[Finding]:
    """Find forward hooks that give the name of the output another value, and return
    nothing.
    """
    for text in scene.program.own_texts():
        hooks = [
            call.args[0]
            for call in text.nodes
            if isinstance(call, ast.Call)
            and get_called_name(call) == "register_forward_hook"
            and call.args
        ]
        registered = {get_called_name(hook) or get_last_name(hook) for hook in hooks}
        registered |= {
            inner.name  # of a function that makes hooks
            for _, function in text.functions()
            if function.name in registered
            for inner in ast.walk(function)
            if isinstance(inner, ast.FunctionDef)
        }
        for _, function in text.functions():
            names = [argument.arg for argument in function.args.args]
            parameters = names[1:] if names[:1] == ["self"] else names
            if function.name not in registered or len(parameters) != len("mio"):
                continue
            nodes = list(ast.walk(function))
            changed = [
                node
                for node in nodes
                if isinstance(node, ast.Assign)
                and ast.unparse(node.targets[0]) == parameters[-1]
            ]
            is_read = any(
                isinstance(node, ast.Name)
                and node.id == parameters[-1]
                and isinstance(node.ctx, ast.Load)
                and node.lineno > changed[-1].lineno
                for node in (nodes if changed else ())
            )
            if not changed or is_read or any(isinstance(n, ast.Return) for n in nodes):
                continue
            message = (
                f"`{function.name}` gives `{parameters[-1]}` another value and returns"
                " nothing: a forward hook changes the output by what it returns"
            )
            place = text.span(changed[-1])
            yield Finding(RESULT_DROPPED, "warning", message, place)


def _find_overwritten_results(scene: HazardContext) -> Iterator[Finding]:
    """Find tensors whose name is given to another value by the next statement."""
    seen: set[Span] = set()
    for call in scene.calls:
        span = call.op.span
        if span is None or span in seen or call.op.kind == "inplace":
            continue
        if not call.op.inputs or any(
            scene.users.get(fact.tensor) for fact in call.op.outputs
        ):
            continue
        place = scene.program.node(span)
        pair = find_overwriting(*place) if place is not None else None
        if place is None or pair is None:
            continue
        seen.add(span)
        (first, second), text = pair, place[0]
        name = ast.unparse(first.targets[0])
        message = (
            f"`{name}` gets another value here, and nothing has read what"
            f" `{text.line_of(first.value)}` gave at line {first.lineno}"
        )
        finding = scene.finding(RESULT_DROPPED, call.op, message)
        yield replace(finding, span=text.span(second))


def find_overwriting(
    text: SourceText, node: ast.AST
) -> tuple[ast.Assign, ast.Assign] | None:
    """Return the statement that gives a name to the value of a node and the next one,
    if that gives the name to another value without reading it. The node may be the next
    statement, too.
    """
    first = _find_statement_before(text, node) or text.parent(node)
    node = first.value if isinstance(first, ast.Assign) else node
    block = text.parent(first) if first is not None else None
    if not isinstance(first, ast.Assign) or first.value is not node:
        return None
    if isinstance(block, ast.Module | ast.Try) or is_notebook(text.file):
        return None
    body = next(
        (
            statements
            for statements in (getattr(block, "body", []), getattr(block, "orelse", []))
            if isinstance(statements, list) and first in statements
        ),
        [],
    )
    after = body[body.index(first) + 1 :] if body else []
    second = after[0] if after else None
    if not isinstance(second, ast.Assign) or len(first.targets) > 1:
        return None
    name = first.targets[0]
    is_same = [ast.unparse(target) for target in second.targets] == [ast.unparse(name)]
    if not isinstance(name, ast.Name) or not is_same or name.id.startswith("_"):
        return None
    if name.id in collect_names(second.value):
        return None
    if ast.unparse(first.value) == ast.unparse(second.value):
        return None  # as in a warm-up
    return first, second


def _find_statement_before(text: SourceText, node: ast.AST) -> ast.Assign | None:
    """Return the assignment right above another one, in the same block."""
    if not isinstance(node, ast.Assign):
        return None
    block = text.parent(node)
    for statements in (getattr(block, "body", []), getattr(block, "orelse", [])):
        if isinstance(statements, list) and node in statements[1:]:
            before = statements[statements.index(node) - 1]
            return before if isinstance(before, ast.Assign) else None
    return None


def _is_of_module(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call is one of those by which `model.cuda()` moves a model."""
    if call.name not in OF_MODULES:
        return False
    ops, at = scene.program.trace.ops, call.op.index
    if any(
        op.span == call.op.span and op.name == call.op.name
        for op in (*ops[max(at - 1, 0) : at], *ops[at + 1 : at + 2])
    ):
        return True  # one for each parameter
    place = scene.program.call_at(call.op.span)
    receiver = get_receiver(place[1]) if place is not None else None
    if place is None or receiver is None:
        return True
    return _is_module(place[0], place[0].written(receiver))


def _is_module(text: SourceText, written: str) -> bool:
    """Return whether the program calls an expression, or reads its parameters."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and text.written(node.func) == written:
            return True
        if not isinstance(node, ast.Attribute) or node.attr not in MODULE_METHODS:
            continue
        if text.written(node.value) == written:
            return True
    return False


def _find_receiver(scene: HazardContext, call: OperatorCall) -> str | None:
    """Return the expression that a call on a line of its own is meant to change."""
    place = scene.program.call_at(call.op.span)
    if place is None or get_called_name(place[1]) != call.name:
        return None
    text, node = place
    statement = text.parent(node)
    if not isinstance(statement, ast.Expr) or _is_for_show(text, statement):
        return None
    value = get_changed_operand(node, scene.program.layer(call.op) is not None)
    return text.line_of(value) if value is not None else None


def get_changed_operand(node: ast.Call, is_layer: bool) -> ast.expr | None:
    """Return `x` of `x.relu()`, `torch.relu(x)`, `nn.functional.relu(x)`, `relu(x)`
    and, of a layer, `self.relu(x)`, if it has a name.
    """
    if any(word.arg == "out" for word in node.keywords):
        return None  # which is written
    value: ast.expr = node.func
    is_function = isinstance(value, ast.Name)
    if isinstance(node.func, ast.Attribute):
        value = node.func.value
        is_function = get_last_name(value) in ("torch", "F", "functional")
    if is_layer or is_function:
        if not node.args:
            return None
        value = node.args[0]
    named = isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
    return value if named else None


def _is_for_show(text: SourceText, statement: ast.Expr) -> bool:
    """Return whether a statement shows its value, or runs for its time or error."""
    parent = text.parent(statement)
    if isinstance(parent, ast.Module | ast.Try) or is_notebook(text.file):
        return True
    scope = text.around(statement, ast.FunctionDef, ast.AsyncFunctionDef)
    lines = text.lines
    if scope is not None:
        lines = lines[scope.lineno - 1 : scope.end_lineno]
    return any(word in line for line in lines for word in MEASURING)


def _find_later_read(scene: HazardContext, call: OperatorCall) -> OperatorCall | None:
    """Return the next call of the same run of a function that reads the tensor which
    a call left unchanged, if nothing wrote to it.
    """
    for user in scene.users.get(call.op.inputs[0].tensor, ()):
        if user.op.index <= call.op.index or user.op.span == call.op.span:
            continue
        if user.op.kind == "inplace" and user.op.inputs[0] == call.op.inputs[0]:
            return None
        return user if user.op.span is not None else None
    return None
