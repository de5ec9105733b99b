"""Edits for masks of padding that are filled row by row, true where the data is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name

OPPOSITE = {"zeros": "ones", "ones": "zeros"}


def suggest_opposite_rows(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mask[i, :n] = False` in a mask of ones for `mask[i, :n] = True` in one
    of zeros.
    """
    if "true where the words are" not in finding.message:
        return
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return
    statement = text.statement_of(node)
    value = statement.value if isinstance(statement, ast.Assign) else None
    makers = [
        maker
        for maker in find_defining(text, node.value.id)
        if get_called_name(maker) in OPPOSITE
    ]
    if not isinstance(value, ast.Constant) or len(makers) != 1:
        return
    maker = makers[0]
    assert isinstance(maker, ast.Call)
    if not isinstance(maker.func, ast.Attribute):
        return
    name = maker.func.attr
    new = f"{text.written(maker.func.value)}.{OPPOSITE[name]}"
    edits = (
        Edit(text.span(value), str(not value.value)),
        Edit(text.span(maker.func), new),
    )
    shown = f"`{text.written(node)} = {not value.value}` in `{new}(...)`"
    yield Fix("fits", shown, edits)
