"""Edits that make one recurrent layer of a loop a stack of layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_line,
    get_own_attribute,
    iter_assignments,
)

FACTORIES = operators_with("is_sized_factory")


def suggest_stacked_layers(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `nn.GRU(..., num_layers=n)`, called once, with a state for each layer."""
    loop = text.around(node, ast.For)
    owner = text.around(node, ast.ClassDef)
    called = get_own_attribute(node.func) if isinstance(node, ast.Call) else ""
    if not isinstance(loop, ast.For) or owner is None or not called:
        return
    if "is one layer, and runs once" not in finding.message or len(loop.body) != 1:
        return
    count = text.written(loop.iter.args[-1]) if isinstance(loop.iter, ast.Call) else ""
    built = [
        value
        for target, value in iter_assignments(owner)
        if get_own_attribute(target) == called and isinstance(value, ast.Call)
    ]
    if len(built) != 1 or not count.startswith("self."):
        return
    argument = _find_argument(owner, count.removeprefix("self."))
    end = text.span(built[0]).end
    words = f", num_layers={argument or count}"
    at = Span(text.file, end.line, end.column - 1, end.line, end.column - 1)
    new = text.written(built[0])[:-1] + words + ")"
    edits = [Edit(at, words), _cut_loop(text, loop)]
    for call in ast.walk(owner):
        if (
            isinstance(call, ast.Call)
            and get_called_name(call) in FACTORIES
            and call.args
        ):
            sizes = call.args
            first = sizes[0].elts[0] if isinstance(sizes[0], ast.Tuple) else sizes[0]
            is_one = isinstance(first, ast.Constant) and first.value == 1
            if is_one and (len(sizes) > 2 or isinstance(sizes[0], ast.Tuple)):
                edits.append(Edit(text.span(first), count))
    yield Fix("fits", f"`{join_lines(new)}`, called once", tuple(edits))


def _find_argument(owner: ast.ClassDef, attribute: str) -> str:
    """Return the argument of the constructor that an attribute keeps."""
    for target, value in iter_assignments(owner):
        if get_own_attribute(target) == attribute and isinstance(value, ast.Name):
            return value.id
    return ""


def _cut_loop(text: SourceText, loop: ast.For) -> Edit:
    """Return the edit that leaves the statement of a loop without it."""
    first, end = loop.body[0], get_last_line(loop)
    extra = first.col_offset - loop.col_offset
    rows = [
        row[extra:] if row[:extra].isspace() else row
        for row in text.lines[first.lineno - 1 : end]
    ]
    last = len(text.lines[end - 1]) + 1
    return Edit(Span(text.file, loop.lineno, 1, end, last), "\n".join(rows))


def suggest_own_norm(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `self.bn2 = nn.BatchNorm2d(c)` for the second layer of a block."""
    owner = text.around(node, ast.ClassDef)
    name = get_own_attribute(node.func) if isinstance(node, ast.Call) else ""
    if "they share its weights" not in finding.message or owner is None or not name:
        return
    assert isinstance(node, ast.Call)
    for target, value in iter_assignments(owner):
        if get_own_attribute(target) == name and isinstance(value, ast.Call):
            new = f"self.{name}2"
            line = f"{new} = {text.written(value)}"
            built = write_after(text, text.statement_of(target), line)
            edits = (built, Edit(text.span(node.func), new))
            yield Fix("fits", f"`{line}` for the second layer", edits)
            return
