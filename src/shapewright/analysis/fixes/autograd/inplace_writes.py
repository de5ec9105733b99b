"""Edits for what writes in place: without the flag, or outside the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors import Cause
from shapewright.analysis.autograd_errors.causes import LEAVES
from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.fixes.statements import wrap_in_no_grad
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import collect_names
from shapewright.record.ops import Op


def suggest_for_leaf(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest the activations of a leaf without `inplace=True`, all in one edit, or
    `with torch.no_grad():` around another write to it.
    """
    program = history.program
    edits: list[Edit] = []
    for op in _list_writes(program, cause):
        text_and_node = program.node(op.span)
        if text_and_node is not None:
            fixes = suggest_without_flag(program, op, *text_and_node)
            edits += [e for fix in fixes for e in fix.edits if e not in edits]
    if edits:
        lines = sorted({edit.span.line for edit in edits})
        words = "`inplace=False`"
        if len(lines) > 1:
            words += f" at lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
        yield Fix("fits", words, tuple(edits))
        return
    statement = history.find_text(cause.failing.span)
    edit = wrap_in_no_grad(*statement) if statement is not None else None
    if edit is not None and statement is not None:
        shown = join_lines(statement[0].written(statement[1]))
        yield Fix("fits", f"`with torch.no_grad():` around `{shown}`", (edit,))


def suggest_for_flag(history: History, cause: Cause) -> Iterator[Fix]:
    """Suggest `h = h.detach()` for `h.requires_grad = False` of what was computed, and
    `h.retain_grad()` where the flag was to be set.
    """
    place = history.find_text(cause.failing.span)
    if place is None:
        return
    text, statement = place
    for node in ast.walk(statement):
        call = text.parent(node)
        if not isinstance(node, ast.Attribute):
            continue
        if isinstance(statement, ast.Assign) and node is statement.targets[0]:
            value: ast.expr | None = statement.value
        elif node.attr == "requires_grad_" and isinstance(call, ast.Call):
            values = [*call.args, *(word.value for word in call.keywords)]
            value = values[0] if values else ast.Constant(True)
        else:
            continue
        if not isinstance(value, ast.Constant) or type(value.value) is not bool:
            return
        is_whole = isinstance(statement, ast.Assign) and node is statement.targets[0]
        is_whole |= isinstance(statement, ast.Expr) and statement.value is call
        whole = call if isinstance(call, ast.expr) and not is_whole else statement
        new = _write_without_flag(text, node, value.value, is_whole)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(whole), new),))
        return


def _write_without_flag(
    text: SourceText, node: ast.Attribute, required: bool, is_whole: bool
) -> str:
    """Return what stands for a flag of a tensor that was computed."""
    owner = text.written(node.value)
    if not is_whole:
        return owner if required else f"{owner}.detach()"
    if required:
        return f"{owner}.retain_grad()"
    loops = [
        outer
        for outer in text.outwards(node)
        if isinstance(outer, ast.For) and owner in collect_names(outer.target)
    ]
    if loops or not isinstance(node.value, ast.Name | ast.Attribute):
        return f"{owner}.detach_()"  # another value of the name would be lost
    return f"{owner} = {owner}.detach()"


def _list_writes(program: Program, cause: Cause) -> list[Op]:
    """Return the refused writes to a leaf, the first of them first."""
    storage = cause.fact.storage if cause.fact is not None else None
    refused = [
        program.trace.ops[failure.op]
        for failure in program.failures
        if any(words in failure.torch_message for words in LEAVES)
    ]
    more = [
        op
        for op in refused
        if op.index > cause.failing.index
        and op.inputs
        and op.inputs[0].storage == storage
    ]
    return [cause.failing, *more]


def suggest_without_flag(
    program: Program, write: Op, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to leave `inplace=True` out, in a call or where a layer is built."""
    layer = program.layer(write)
    places = [(text, node)]
    if layer is not None and layer.path in program.built:
        text_and_call = program.call_at(program.built[layer.path].span)
        if text_and_call is not None:
            places.append(text_and_call)
    for where, call in places:
        if not isinstance(call, ast.Call):
            continue
        for word in call.keywords:
            if word.arg == "inplace":
                span = where.span(word.value)
                words = "`inplace=False`"
                yield Fix("fits", words, (Edit(span, "False"),))
        last = call.args[-1] if layer is not None and call.args else None
        if isinstance(last, ast.Constant) and last.value is True:
            span = where.span(last)
            yield Fix("fits", "`inplace=False`", (Edit(span, "False"),))
