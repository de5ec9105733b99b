"""Edits that take the exponential or the root of a mean, not the mean of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.curved_values import CurvedValue, iter_curved_values
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name, get_dotted_name


def suggest_curve_of_mean(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `math.exp(total / len(loader))` with `total += loss.item()`."""
    curved = next((c for c in iter_curved_values(text) if c.node is node), None)
    place = program.node(finding.related[0].span) if finding.related else None
    if curved is None or place is None or place[0] is not text:
        return
    division = place[1]
    if curved.node in ast.walk(division):
        return  # a logger takes the mean
    if text.around(division, *FUNCTIONS) is not text.around(curved.node, *FUNCTIONS):
        return
    inner = text.written(curved.argument)
    edits = []
    if not curved.name:
        edits = [Edit(text.span(curved.node), inner)]
    else:
        edits = [
            Edit(text.span(used), inner) for used in _iter_added(text, curved.name)
        ]
    added = text.statement_of(curved.node)
    is_number = ".item()" in text.written(added) or "float(" in text.written(added)
    if isinstance(division, ast.AugAssign):
        total = text.written(division.target)
        mean = f"{total} / {text.written(division.value)}"
        new = f"{total} = {_write_curve(text, curved, mean, is_number)}"
    elif isinstance(division, ast.expr):
        new = _write_curve(text, curved, text.written(division), is_number)
    else:
        return
    if edits and text.around(division, ast.JoinedStr) is None:
        edits.append(Edit(text.span(division), new))
        yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))


def _iter_added(text: SourceText, name: str) -> Iterator[ast.expr]:
    """Yield where a name is added to a total or appended to a list."""
    for node in text.nodes:
        values: list[ast.expr] = []
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            values = [node.value]
        elif isinstance(node, ast.Call) and get_called_name(node) == "append":
            values = node.args
        for value in values:
            for part in ast.walk(value):
                is_name = isinstance(part, ast.Name | ast.Attribute)
                if is_name and get_dotted_name(part) == name:
                    yield part  # type: ignore[misc]


def _write_curve(
    text: SourceText, curved: CurvedValue, mean: str, is_number: bool
) -> str:
    """Write the exponential or the root of a mean with what the file imports."""
    written = text.written(curved.node)
    for module in ("math", "np", "numpy"):
        if written.startswith(f"{module}.{curved.kind}("):
            return f"{module}.{curved.kind}({mean})"
    if not is_number:
        return f"torch.{curved.kind}({mean})"
    imported = {
        alias.asname or alias.name
        for node in text.nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for module in ("math", "np", "numpy"):
        if module in imported:
            return f"{module}.{curved.kind}({mean})"
    if curved.kind == "sqrt":
        return f"({mean}) ** 0.5"
    return f"torch.tensor({mean}).exp().item()"
