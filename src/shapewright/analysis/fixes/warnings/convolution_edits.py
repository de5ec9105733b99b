"""Edits that give a convolution the steps of a sequence along its last dim."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import iter_assignments


def suggest_turned_steps(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `self.conv(x.transpose(1, 2))`, with as many channels as features."""
    if "puts the steps last" not in finding.message or not finding.related:
        return
    op = program.op_at(finding.span, finding.module)
    place = program.call_at(finding.related[0].span)
    if op is None or place is None or not isinstance(node, ast.Call) or not node.args:
        return
    where, built = place
    words = [word.value for word in built.keywords if word.arg == "in_channels"]
    counts = [*built.args[:1], *words]
    features = op.inputs[0].shape[2]
    if not counts:
        return
    new = _write_count(where, features)
    turned = f"{text.written(node.args[0])}.transpose(1, 2)"
    edits = (
        Edit(text.span(node.args[0]), turned),
        Edit(where.span(counts[0]), new),
    )
    yield Fix("fits", f"`{turned}` and `{new}` channels", edits)


def _write_count(text: SourceText, features: int) -> str:
    """Return the name that a script has for a number of features, or the number."""
    for statement in getattr(text.tree, "body", ()):
        for target, value in iter_assignments(statement, unpacked=True):
            is_same = isinstance(value, ast.Constant) and value.value == features
            if is_same and isinstance(target, ast.Name):
                return target.id
    return str(features)
