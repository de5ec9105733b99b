"""Edits for mistakes of which a run shows nothing: weights that are not tied, rows in
another order, numbers of samples that meet columns, losses of several labels, numbers
that are added to a loss.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.hazards.inverse_transforms import find_setting
from shapewright.analysis.hazards.tied_weights import find_copied_pair
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name, iter_assignments

OF_EACH_CLASS = {
    "CrossEntropyLoss": "BCEWithLogitsLoss",
    "cross_entropy": "binary_cross_entropy_with_logits",
}
"""The loss that decides about each class by itself."""


def suggest_tied_weight(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `decoder.weight = encoder.weight` for a copy of its values."""
    if not isinstance(node, ast.expr | ast.stmt):
        return
    statement = text.statement_of(node)
    pair = find_copied_pair(statement)
    if pair is not None:
        new = " = ".join(text.written(side) for side in pair)
        yield Fix("fits", f"`{new}`", (Edit(text.span(statement), new),))


def suggest_loss_of_each_class(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the binary loss of logits for a cross entropy."""
    op = program.op_at(finding.span, finding.module)
    layer = program.layer(op) if op is not None else None
    built = program.built.get(layer.path) if layer is not None else None
    place = program.call_at(built.span if built is not None else finding.span)
    if place is None:
        return
    where, call = place
    name, written = get_called_name(call), where.written(call.func)
    other = OF_EACH_CLASS.get(name)
    if other is not None and written.endswith(name):
        new = f"{written[: -len(name)]}{other}"
        yield Fix("fits", f"`{new}`", (Edit(where.span(call.func), new),))


def suggest_old_order(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to put rows back that were sorted, where their function returns them."""
    function = text.around(node, ast.FunctionDef)
    if not isinstance(node, ast.Subscript) or function is None:
        return
    order = text.written(node.slice)
    returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
    value = returns[0].value if len(returns) == 1 else None
    if value is not None and not isinstance(value, ast.Tuple):
        yield append_method(text, value, f"[{order}.argsort()]")


def suggest_rows_for_samples(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `.view(-1, 1, 1, 1)` for one number for each image."""
    if "it scales columns" not in finding.message or not isinstance(node, ast.BinOp):
        return
    op = program.op_at(finding.span, finding.module)
    if op is None or len(op.inputs) != 2:
        return
    for side, fact in zip((node.left, node.right), op.inputs, strict=True):
        if fact.ndim == 1:
            ndim = max(other.ndim for other in op.inputs)
            yield append_method(text, side, f".view(-1{', 1' * (ndim - 1)})")


def suggest_no_state(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the call of a model without the state of the batch before."""
    if not isinstance(node, ast.Call) or len(node.args) != 2 or node.keywords:
        return
    if isinstance(node.args[1], ast.Name | ast.Attribute | ast.Tuple):
        new = f"{text.written(node.func)}({text.written(node.args[0])})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_added_tensor(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the tensor for a number that was read off it and added to a loss; the
    number where else the name is read.
    """
    place = program.call_at(finding.related[0].span) if finding.related else None
    if place is None or get_called_name(place[1]) != "item" or place[0] is not text:
        return
    call = place[1]
    tensor: ast.expr = call
    while isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        if tensor.func.attr not in ("item", "detach", "cpu") or tensor.args:
            break
        tensor = tensor.func.value
    written = text.written(tensor)
    edits = [Edit(text.span(call), written)]
    statement, use = text.statement_of(call), node
    if isinstance(statement, ast.Assign) and statement.value is call:
        target = text.written(statement.targets[0])
        summed = text.statement_of(use) if isinstance(use, ast.expr) else use
        inside = {id(part) for part in ast.walk(summed)}
        around = text.around(call, ast.FunctionDef) or text.tree
        for part in ast.walk(around) if around is not None else ():
            if not isinstance(part, ast.Name | ast.Attribute) or id(part) in inside:
                continue
            if isinstance(part.ctx, ast.Load) and text.written(part) == target:
                edits.append(Edit(text.span(part), f"{target}.item()"))
    yield Fix("fits", f"`{join_lines(written)}`", tuple(edits))


KEPT = re.compile(r"zeros: `([\w.]+)`, which is kept")


def _suggest_kept_state(text: SourceText, node: ast.AST, name: str) -> Iterator[Fix]:
    """Suggest the state that a program keeps, as what a layer is given and returns."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return
    new = f"{text.written(node.args[0])}, {name}"
    edits = [Edit(text.span(node.args[0]), new)]
    statement = text.statement_of(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        dropped = target.elts[1]
        if isinstance(dropped, ast.Name) and dropped.id.startswith("_"):
            edits.append(Edit(text.span(dropped), name))
    yield Fix("fits", f"`{text.written(node.func)}({new})`", tuple(edits))


def suggest_carried_state(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `out, state = model(x, state)` for `out, _ = model(x)` in a loop, where a
    call before the loop returned the state; or the state that the program keeps.
    """
    kept = KEPT.search(finding.message)
    if kept is not None:
        yield from _suggest_kept_state(text, node, kept[1])
        return
    call = node if isinstance(node, ast.Call) else text.around(node, ast.Call)
    statement = text.around(call, ast.Assign)
    if call is None or statement is None or statement.value is not call:
        return
    names = statement.targets[0]
    if not isinstance(names, ast.Tuple) or len(names.elts) != 2:
        return
    dropped = names.elts[1]
    written = text.written(call.func)
    function = text.around(call, ast.FunctionDef, ast.AsyncFunctionDef)
    scope = text.tree if function is None else function
    taken = [arg.id for arg in call.args[1:] if isinstance(arg, ast.Name)]
    before = [
        target.elts[1].id
        for target, value in iter_assignments(scope, before=statement.lineno)
        if isinstance(target, ast.Tuple)
        and len(target.elts) == 2
        and isinstance(target.elts[1], ast.Name)
        and isinstance(value, ast.Call)
        and text.written(value.func) == written
    ]
    for state in [*taken, *before][:1]:
        edits = [Edit(text.span(dropped), state)]
        if state not in taken and call.args:
            last = call.args[-1]
            edits.append(Edit(text.span(last), f"{text.written(last)}, {state}"))
        shown = f"`{text.written(names.elts[0])}, {state} = {written}(..., {state})`"
        yield Fix("fits", shown, tuple(edits))


def suggest_same_settings(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the settings of `stft` for the `istft` that inverts it."""
    place = program.call_at(finding.related[0].span) if finding.related else None
    if place is None or not isinstance(node, ast.Call):
        return
    edits: list[Edit] = []
    shown: list[str] = []
    added: list[str] = []
    for name in ("hop_length", "win_length", "window"):
        forward, back = find_setting(place[1], name), find_setting(node, name)
        new = place[0].written(forward) if forward is not None else "None"
        if back is not None and text.written(back) != new:
            edits.append(Edit(text.span(back), new))
            shown.append(f"{name}={new}")
        elif back is None and forward is not None:
            added.append(f"{name}={new}")
    if added:
        edits += with_keyword(text, node, ", ".join(added)).edits
    if edits:
        message = ", ".join(join_lines(part) for part in [*shown, *added])
        yield Fix("fits", f"`{message}`", tuple(edits))


def suggest_masked_diagonal(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `sim.masked_fill(torch.eye(n, ...), float("-inf"))` for similarities of a
    batch with itself.
    """
    op = program.op_at(finding.span, finding.module)
    place = find_tensor_expressions(program, op)[0] if op is not None else None
    value = place[0] if place is not None else None
    matrix = value
    while isinstance(matrix, ast.BinOp):
        matrix = matrix.left  # of `z @ z.T / t`
    if value is None or not isinstance(matrix, ast.Name):
        return
    product = program.op_at(finding.related[0].span) if finding.related else None
    is_distance = product is not None and product.name.rpartition(".")[2] == "cdist"
    sign = "" if is_distance and "finds it first" in finding.message else "-"
    name = matrix.id
    mask = f"torch.eye(len({name}), dtype=torch.bool, device={name}.device)"
    yield append_method(text, value, f'.masked_fill({mask}, float("{sign}inf"))')
