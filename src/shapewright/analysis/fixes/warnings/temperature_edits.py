"""Edits of probabilities that are divided by a temperature."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import TIGHT
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name


def suggest_divided_scores(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `F.softmax(logits / temperature, -1)` for a softmax that is divided."""
    if not isinstance(node, ast.expr | ast.stmt):
        return
    statement = text.statement_of(node)
    divisor: ast.expr | None = None
    divided: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        divided, divisor = node.left, node.right
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Div):
        divided, divisor = statement.target, statement.value
    place = program.call_at(finding.related[0].span) if finding.related else None
    if place is None or place[0] is not text or divisor is None or divided is None:
        return
    softmax = place[1]
    if get_called_name(softmax) != "softmax":
        return
    scores = softmax.args[0] if softmax.args else None
    owner = get_receiver(softmax)
    if owner is not None and text.written(owner) not in ("F", "torch", "nn.functional"):
        scores = owner
    if scores is None:
        return
    operand, number = text.written(scores), text.written(divisor)
    whole = operand if isinstance(scores, TIGHT) else f"({operand})"
    under = number if isinstance(divisor, (*TIGHT, ast.Constant)) else f"({number})"
    new = f"{whole} / {under}"
    if scores is owner:
        new = f"({new})"
    edits = [Edit(text.span(scores), new)]
    shown = text.written(softmax).replace(operand, new, 1)
    if softmax is divided:
        yield Fix("fits", f"`{join_lines(shown)}`", (Edit(text.span(node), shown),))
        return
    is_own = isinstance(statement, ast.Assign) and statement.value is node
    if isinstance(statement, ast.AugAssign) or (
        is_own
        and isinstance(statement, ast.Assign)
        and text.written(statement.targets[0]) == text.written(divided)
    ):
        edits.append(cut_lines(text, statement))
    elif isinstance(node, ast.expr):
        edits.append(Edit(text.span(node), text.written(divided)))
    yield Fix("fits", f"`{join_lines(shown)}`", tuple(edits))
