"""Edits of how weights are initialised."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.hazards.equal_units import get_set_weight
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_last_name


def suggest_random_weights(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `nn.init.xavier_uniform_(m.weight)` for a weight of one number."""
    weight = get_set_weight(text, node) if isinstance(node, ast.Call) else None
    if weight is None or not isinstance(node, ast.Call):
        return
    owner, init = get_receiver(node), "torch.nn.init"
    if owner is not None and get_last_name(owner) == "init":
        init = text.written(owner)
    elif any(isinstance(name, ast.Name) and name.id == "nn" for name in text.nodes):
        init = "nn.init"
    new = f"{init}.xavier_uniform_({text.written(weight)})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def suggest_zero_row(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to make the row of padding zero behind the draw of an embedding."""
    weight = get_set_weight(text, node) if isinstance(node, ast.Call) else None
    if "the row of padding" not in finding.message or weight is None:
        return
    assert isinstance(node, ast.Call)
    owner = text.written(weight.value)
    names = {name.id for name in text.nodes if isinstance(name, ast.Name)}
    init = "nn.init" if "nn" in names else "torch.nn.init"
    new = f"{init}.zeros_({owner}.weight[{owner}.padding_idx])"
    if not isinstance(text.parent(weight.value), ast.Attribute):
        return
    statement = text.statement_of(node)
    if isinstance(weight.value, ast.Name):  # of any embedding
        indent = text.lines[statement.lineno - 1][: statement.col_offset]
        condition = f"if {owner}.padding_idx is not None:"
        edit = write_after(text, statement, f"{condition}\n{indent}    {new}")
    else:
        edit = write_after(text, statement, new)
    yield Fix("fits", f"`{join_lines(new)}`", (edit,))
