"""Sizes that a conditional expression makes as a whole: `n * 2 if both else 1` is 1
where `n * (2 if both else 1)` was meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.suspect_lines import Line, iter_nodes_on
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix


def suggest_parentheses(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Suggest parentheses around the conditional factor of a product."""
    for text, node in iter_nodes_on(program, lines, ast.IfExp):
        product, rest = node.body, node.orelse
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            continue
        if not isinstance(rest, ast.Constant) or rest.value != 1:
            continue
        left, right = text.written(product.left), text.written(product.right)
        if not isinstance(product.right, ast.Constant):
            left, right = right, left
        test = text.written(node.test)
        new = f"{left} * ({right} if {test} else {rest.value})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
