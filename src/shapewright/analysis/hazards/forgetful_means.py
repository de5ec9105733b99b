"""Find running means that forget what they were: the share of a batch is added to its
difference from the mean, and does not multiply it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import CODES, DECAY_SWAPPED
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, iter_assignments


def find_forgetful_means(scene: HazardContext) -> Iterator[Finding]:
    """Find `mean + delta + count / total` with `delta = batch_mean - mean`."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            terms = get_forgetful_terms(text, node)
            if terms is None or not isinstance(node, ast.expr):
                continue
            mean, (delta, difference), share = terms
            message = (
                f"`{text.written(mean)} + {text.written(delta)}` is"
                f" `{text.written(difference.left)}`: the mean before cancels, as"
                f" `{text.written(share)}` is added and does not multiply it"
            )
            place = text.span(difference)
            related = (Related(place, "the difference from the mean"),)
            severity = CODES[DECAY_SWAPPED].severity
            span = text.span(node)
            yield Finding(DECAY_SWAPPED, severity, message, span, "", related=related)


def get_forgetful_terms(
    text: SourceText, node: ast.AST
) -> tuple[ast.expr, tuple[ast.expr, ast.BinOp], ast.BinOp] | None:
    """Return the terms of a sum of a mean, a difference from this mean, with what it is
    assigned, and the share of a batch; None of any other expression.
    """
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    first = node.left
    if not isinstance(first, ast.BinOp) or not isinstance(first.op, ast.Add):
        return None
    mean, delta, share = first.left, first.right, node.right
    function = text.around(node, *FUNCTIONS)
    if function is None or not isinstance(delta, ast.Name):
        return None
    if not isinstance(share, ast.BinOp) or not isinstance(share.op, ast.Div):
        return None
    known = list(iter_assignments(function))
    values = [v for t, v in known if ast.unparse(t) == delta.id]
    totals = [v for t, v in known if ast.unparse(t) == ast.unparse(share.right)]
    if len(values) != 1 or len(totals) != 1:
        return None
    (value,), (total,) = values, totals
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Sub):
        return None
    if not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add):
        return None
    if ast.unparse(value.right) != ast.unparse(mean):
        return None
    parts = [ast.unparse(part) for part in (total.left, total.right)]
    is_share = ast.unparse(share.left) in parts
    return (mean, (delta, value), share) if is_share else None
