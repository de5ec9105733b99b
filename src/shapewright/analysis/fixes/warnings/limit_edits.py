"""Edits of limits that round to 1, and of logarithms of sums that vanish."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import get_called_name

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


def suggest_logsumexp(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `torch.logsumexp(x, dim=1)` for `torch.log(torch.exp(x).sum(dim=1))`."""
    if "`logsumexp`" not in finding.message or not isinstance(node, ast.Call):
        return
    whole, _ = _read_call(node, "log")
    total, of_sum = _read_call(whole, "sum")
    exponent, _ = _read_call(total, "exp")
    if exponent is None or not of_sum:
        return
    new = f"torch.logsumexp({text.written(exponent)}, {', '.join(of_sum)})"
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _read_call(node: ast.AST | None, name: str) -> tuple[ast.expr | None, list[str]]:
    """Return what a call of a function of torch or of a method is made of, and the
    other arguments as written; None for other expressions.
    """
    if not isinstance(node, ast.Call) or get_called_name(node) != name:
        return None, []
    owner, values = get_receiver(node), [*node.args]
    is_function = owner is None or ast.unparse(owner) == "torch"
    if is_function and not values:
        return None, []
    first = values.pop(0) if is_function else owner
    words = [f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords]
    return first, [*map(ast.unparse, values), *words]
