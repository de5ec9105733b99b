"""Edits of how weights are initialised."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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
