"""Edits of limits that round to 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, find_defining

SEEN = "1e-6"
"""What float32 tells from 0 beside 1."""


def suggest_larger_limit(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest 1e-6 for the small number beside 1, where it is written."""
    if "whose next number below 1" not in finding.message:
        return
    if "float32" not in finding.message:
        return
    for part in ast.walk(node):
        if _is_number(part, below_one=True):
            edit = Edit(text.span(part), f"1 - {SEEN}")
            yield Fix("fits", f"`1 - {SEEN}`", (edit,))
            return
        if not isinstance(part, ast.BinOp) or ast.unparse(part.left) not in ONES:
            continue
        values = [part.right]
        if isinstance(part.right, ast.Name):
            values = find_defining(text, part.right.id)
        if len(values) == 1 and _is_number(values[0]):
            edit = Edit(text.span(values[0]), SEEN)
            yield Fix("fits", f"`{SEEN}`", (edit,))
            return


ONES = ("1", "1.0")
SMALLEST = 1e-7
"""What float32 does not tell from 0 beside 1 is smaller."""


def _is_number(node: ast.AST, below_one: bool = False) -> TypeGuard[ast.Constant]:
    """Return whether a node is a number that is lost beside 1, or that rounds to 1."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, float):
        return False
    small = 1 - node.value if below_one else node.value
    return 0 < small < SMALLEST
