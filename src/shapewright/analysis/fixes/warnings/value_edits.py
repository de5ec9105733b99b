"""Edits for values that become NaN or infinite: blank cells, logarithms, roots."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines

SMALLEST = {"sqrt": "1e-12"}
"""What a call is given at least: the root of 1e-12 is 1e-6."""
SMALL = "1e-10"
ARRAYS = frozenset({"to_numpy", "values"})
"""How a table of pandas becomes an array."""


def suggest_limited_value(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x.clamp(min=1e-10)` for the operand of a logarithm or a root."""
    power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    if isinstance(node, ast.BinOp) and power:
        value, name = node.left, "sqrt"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        op = program.op_at(finding.span)
        is_method = op is not None and op.name.startswith("Tensor.")
        if not is_method and not node.args:
            return
        value = node.func.value if is_method else node.args[0]
        name = "sqrt" if node.func.attr == "pow" else node.func.attr
    else:
        return
    yield append_method(text, value, f".clamp(min={SMALLEST.get(name, SMALL)})")


def suggest_filled_cells(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `table.fillna(table.mean())` where columns of a table become a tensor."""
    op = program.op_at(finding.span)
    if op is None or not op.outputs or op.outputs[0].ndim != 2:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in ARRAYS:
            table = text.written(part.value)
            new = f"{table}.fillna({table}.mean())"
            edit = Edit(text.span(part.value), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))
            return
