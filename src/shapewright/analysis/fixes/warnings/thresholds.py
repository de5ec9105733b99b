"""Edits of thresholds of probabilities, where a model comes to return logits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_last_name
from shapewright.record.ops import Op

STEPS = 4
ROUNDS = ("round", "round_")
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def add_thresholds(program: Program, maker: Op, fix: Fix) -> Fix:
    """Return a fix that leaves out a sigmoid, with a sigmoid where its result is
    compared with a threshold: ``outputs > 0.5`` means another thing of logits.
    """
    if maker.name.rpartition(".")[2] not in ("sigmoid", "Sigmoid"):
        return fix
    own, others = _collect_sources(program, maker)
    edits: dict[ast.AST, Edit] = {}
    for text in program.own_texts():
        if "import torch\n" not in text.text:
            continue
        for operand in _iter_compared(text):
            sources = _find_sources(text, operand, own | others)
            for node in [operand] if own & set(sources) else sources:
                written = text.written(node)
                edits[node] = Edit(text.span(node), f"torch.sigmoid({written})")
    edits = {node: edit for node, edit in edits.items() if not _is_met(edit, fix)}
    if not edits:
        return fix
    first = next(iter(edits.values()))
    shown = f"{fix.message}, `{first.text}` where it is compared with a threshold"
    return replace(fix, message=shown, edits=(*fix.edits, *edits.values()))


def _collect_sources(program: Program, maker: Op) -> tuple[set[ast.AST], set[ast.AST]]:
    """Return the expressions that give what the activation returns: those of the run
    that reached the loss, and other calls of the same modules.
    """
    around = [
        call for call in program.trace.calls[1:]
        if call.ops[0] <= maker.index < call.ops[1]
    ]  # fmt: skip
    places = [call.span for call in around] or [maker.span]
    own = {node for place in places for node in _find_nodes(program, place)}
    paths = {call.path for call in around}
    spans = {call.span for call in program.trace.calls if call.path in paths}
    others = {node for place in spans for node in _find_nodes(program, place)}
    return own, others - own


def _find_nodes(program: Program, span: Span | None) -> list[ast.AST]:
    place = program.node(span)
    return [place[1]] if place is not None else []


def _iter_compared(text: SourceText) -> Iterator[ast.expr]:
    """Yield what is compared with a number between 0 and 1, or rounded."""
    for node in text.nodes:
        match node:
            case ast.Compare(left, [op], [ast.Constant(float() as limit)]):
                if isinstance(op, ORDERS) and 0 < limit < 1:
                    yield left
            case ast.Call(func) if get_last_name(func) in ROUNDS:
                owner = get_receiver(node)
                if owner is None or text.written(owner) in ("torch", "np", "numpy"):
                    yield from node.args[:1]
                else:
                    yield owner


def _find_sources(
    text: SourceText, operand: ast.expr, sources: set[ast.AST]
) -> list[ast.expr]:
    """Return the sources from which an operand comes, by the names that it goes by."""
    value: ast.expr | None = operand
    for _ in range(STEPS):
        if value is None or _has_sigmoid(value):
            return []
        parts = [part for part in ast.walk(value) if part in sources]
        if parts:
            return [part for part in parts if isinstance(part, ast.expr)]
        name = _get_name(value)
        value = find_last_value(text, name, name.lineno) if name is not None else None
    return []


def _has_sigmoid(value: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Call) and get_called_name(part) in ("sigmoid", "softmax")
        for part in ast.walk(value)
    )


def _get_name(value: ast.expr) -> ast.expr | None:
    """Return `scores` of `scores[:, 1].cpu().numpy()`."""
    while True:
        if isinstance(value, ast.Name):
            return value
        if isinstance(value, ast.Subscript | ast.Attribute):
            value = value.value
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func.value
        else:
            return None


def _is_met(edit: Edit, fix: Fix) -> bool:
    """Return whether an edit is within one of a fix's own."""
    mine = edit.span
    return any(
        other.span.file == mine.file
        and other.span.line <= mine.line
        and mine.end_line <= other.span.end_line
        and (other.span.line < mine.line or other.span.column <= mine.column)
        and (mine.end_line < other.span.end_line
             or mine.end_column <= other.span.end_column)
        for other in fix.edits
    )  # fmt: skip
