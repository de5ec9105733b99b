"""The tensors that names stand for in any function of the program, by what the run did
on its lines.
"""

from __future__ import annotations

import ast

from shapewright.analysis.fixes.suspect_lines import iter_named_facts
from shapewright.analysis.program_run import Program
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_shape_owner,
    pair_targets,
)
from shapewright.record.ops import Fact, Op

MOST = 3_000
"""Calls before a failure that are looked at."""


def list_scope_facts(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> dict[str, Fact]:
    """Return the tensors of names in the function around a node, as they were last set
    or read before a call.

    Example: ``{"seq": f32[8, 33], "inp": f32[8, 32]}`` for a node below
    ``inp = seq[:, :-1]``.
    """
    scope = text.around(node, *FUNCTIONS) or text.tree
    if scope is None:
        return {}
    facts: dict[str, Fact] = {}
    by_span = _index_calls(program, op, text)
    for part in ast.walk(scope):
        if isinstance(part, ast.Assign) and part.lineno < node.lineno:
            for target, value in pair_targets(part.targets[0], part.value):
                calls = by_span.get(text.span(value), ())
                if calls and isinstance(target, ast.Name) and calls[-1].outputs:
                    facts[target.id] = calls[-1].outputs[0]
        if not isinstance(part, ast.Subscript | ast.Call | ast.BinOp):
            continue
        read = _get_read_name(part)
        calls = by_span.get(text.span(part), ())
        is_scaled = isinstance(part, ast.BinOp) and bool(collect_names(part.right))
        if is_scaled and calls and len(calls[-1].inputs) < 2:
            continue  # either side may be a number
        if read and calls and calls[-1].inputs:
            facts.setdefault(read, calls[-1].inputs[0])
    named = iter_named_facts(program, op, text, node)
    return {**facts, **named}


def _index_calls(program: Program, op: Op, text: SourceText) -> dict[Span, list[Op]]:
    """Return the calls before another, by the outermost place in a file."""
    by_span: dict[Span, list[Op]] = {}
    for before in program.trace.ops[max(0, op.index - MOST) : op.index]:
        for frame in before.frames:
            if frame.span.file == text.file:
                by_span.setdefault(frame.span, []).append(before)
        if before.span is not None and before.span.file == text.file:
            by_span.setdefault(before.span, []).append(before)
    return by_span


def _get_read_name(node: ast.Subscript | ast.Call | ast.BinOp) -> str:
    """Return the name whose tensor a call is given first, or an empty string."""
    if get_shape_owner(node) is not None:
        return ""
    first: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        first = node.value
    elif isinstance(node, ast.BinOp):
        first = node.left
    elif isinstance(node.func, ast.Attribute):
        first = node.func.value
    return first.id if isinstance(first, ast.Name) else ""


def list_scope_numbers(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> dict[str, int]:
    """Return the sizes that names in the function around a node stand for.

    Example: ``{"clips": 6, "frames": 25}`` below ``clips, frames, _ = imu.shape``.
    """
    scope = text.around(node, *FUNCTIONS)
    facts = list_scope_facts(program, op, text, node)
    call = program.call_of(op)
    if call is not None and isinstance(scope, ast.FunctionDef):
        names = [argument.arg for argument in scope.args.args if argument.arg != "self"]
        for name, value in zip(names, call.inputs[0], strict=False):
            if isinstance(value, Fact) and scope.name == call.method:
                facts.setdefault(name, value)
    numbers: dict[str, int] = {}
    for part in ast.walk(scope) if scope is not None else ():
        if not isinstance(part, ast.Assign) or part.lineno >= node.lineno:
            continue
        owner = get_shape_owner(part.value)
        fact = facts.get(text.written(owner)) if owner is not None else None
        target = part.targets[0]
        if fact is None or not isinstance(target, ast.Tuple):
            continue
        for element, size in zip(target.elts, fact.shape, strict=False):
            if isinstance(element, ast.Name) and len(target.elts) == fact.ndim:
                numbers[element.id] = size
    return numbers
