"""Edits of what scores and probabilities are divided by before a softmax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import TIGHT
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
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


def suggest_root_of_features(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `q.size(-1) ** -0.5` for scores that another root scales."""
    place = program.node(finding.related[0].span) if finding.related else None
    product = place[1] if place is not None else node
    if isinstance(product, ast.BinOp) and isinstance(product.op, ast.MatMult):
        queries: ast.expr | None = product.left
    elif isinstance(product, ast.Call) and get_called_name(product) in QUERIES_FIRST:
        queries = product.args[0] if product.args else None
    else:
        return
    if not isinstance(queries, ast.Name | ast.Attribute):
        return
    count = f"{text.written(queries)}.size(-1)"
    for word in node.keywords if isinstance(node, ast.Call) else ():
        if word.arg == "scale":
            new = f"{count} ** -0.5"
            edit = Edit(text.span(word.value), new)
            yield Fix("fits", f"`scale={new}`", (edit,))
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    scaled, number, operator = _split_scale(node, statement)
    if scaled is None or number is None:
        return
    power = "-0.5" if isinstance(operator, ast.Mult) else "0.5"
    new = f"{count} ** {power}"
    sign = "*" if isinstance(operator, ast.Mult) else "/"
    yield Fix("fits", f"`{sign} {new}`", (Edit(text.span(number), new),))


QUERIES_FIRST = operators_with("is_product") | {"scaled_dot_product_attention"}


def _split_scale(
    node: ast.AST, statement: ast.AST
) -> tuple[ast.expr | None, ast.expr | None, ast.operator | None]:
    """Return what is scaled, the number, and the operator between them."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return node.left, node.right, node.op
    if isinstance(statement, ast.AugAssign):
        return statement.target, statement.value, statement.op
    return None, None, None
