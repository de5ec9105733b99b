"""Edits for queries and keys that are rotated along another dim than that of the steps:
they are turned for the call, and back behind it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS

DIMS = re.compile(r"is rotated along dim (\d+), .* and not along dim (\d+)")
MOST = 2
"""Operands of a rotation: queries and keys."""


def suggest_turned_heads(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `q, k = rope(q.transpose(1, 2), k.transpose(1, 2))`, turned back behind
    it, in the callers of what rotates.
    """
    dims = DIMS.search(finding.message)
    if dims is None:
        return
    first, second = sorted(map(int, dims.groups()))
    turn = f".transpose({first}, {second})"
    for related in finding.related:
        place = program.call_at(related.span)
        if place is None:
            continue
        text, call = place
        edits: list[Edit] = []
        shown = ""
        for other in _list_calls(text, call):
            turned, line = _write_turned(text, other, turn)
            edits += turned
            if turned and not shown:
                new = {edit.span: edit.text for edit in turned}
                parts = [
                    new.get(text.span(part), text.written(part))
                    for part in (*other.args, *(word.value for word in other.keywords))
                ]
                shown = f"`{text.written(other.func)}({', '.join(parts)})`"
                shown += f", and `{line}` behind it"
        if edits:
            yield Fix("fits", shown, tuple(edits))


def _list_calls(text: SourceText, call: ast.Call) -> list[ast.Call]:
    """Return the calls of the same function in the scope of a call."""
    scope = text.around(call, *FUNCTIONS) or text.tree
    name = text.written(call.func)
    if scope is None:
        return []
    return [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and text.written(node.func) == name
    ]


def _write_turned(
    text: SourceText, call: ast.Call, turn: str
) -> tuple[list[Edit], str]:
    """Return the edits that turn what a call rotates and turn it back, with the line
    behind it; none where the result has another name.
    """
    statement = text.statement_of(call)
    if not isinstance(statement, ast.Assign) or call not in _list_values(statement):
        return [], ""
    target = statement.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    if isinstance(statement.value, ast.Tuple):
        names = [names[statement.value.elts.index(call)]]
    pairs = [
        (name.id, value)
        for name, value in zip(names[:MOST], call.args[:MOST], strict=False)
        if isinstance(name, ast.Name) and isinstance(value, ast.Name)
    ]
    if not pairs:
        return [], ""
    edits = [Edit(text.span(value), f"{value.id}{turn}") for _, value in pairs]
    back = ", ".join(f"{name}{turn}" for name, _ in pairs)
    line = f"{', '.join(name for name, _ in pairs)} = {back}"
    return [*edits, write_after(text, statement, line)], line


def _list_values(statement: ast.Assign) -> list[ast.expr]:
    """Return the values that a statement gives its names."""
    value = statement.value
    return value.elts if isinstance(value, ast.Tuple) else [value]
