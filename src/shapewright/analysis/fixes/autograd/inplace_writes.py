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
