"""Edits for overlaps of boxes without a limit, and for steps that are read too late."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.terminal_states import iter_discounted
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText


def suggest_limited_sides(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)`."""
    if "product of two negative numbers" not in finding.message:
        return
    if not isinstance(node, ast.BinOp):
        return
    sides = [
        f"({text.written(side)}).clamp(min=0)"
        if isinstance(side, ast.BinOp)
        else f"{text.written(side)}.clamp(min=0)"
        for side in (node.left, node.right)
    ]
    new = " * ".join(sides)
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def suggest_step_before(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `out[torch.arange(n), lengths - 1]`."""
    if "reads the one behind it" not in finding.message:
        return
    index = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(index, ast.Tuple) and isinstance(index.elts[1], ast.Name):
        new = f"{index.elts[1].id} - 1"
        yield Fix("fits", f"`{new}`", (Edit(text.span(index.elts[1]), new),))


def suggest_ends_of_steps(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to multiply each discounted value of a function by `1 - dones[t]`, the
    flag of its step.
    """
    if "and does not read it" not in finding.message:
        return
    name = finding.message.split("`")[3]
    function, loop = text.around(node, ast.FunctionDef), text.around(node, ast.For)
    turn = loop.target.id if loop and isinstance(loop.target, ast.Name) else ""
    is_of_step = any(
        isinstance(part, ast.Subscript) and turn in ast.unparse(part.slice)
        for part in ast.walk(loop if loop is not None else node)
    )
    flag = f"{name}[{turn}]" if turn and is_of_step else name
    products = sorted(
        iter_discounted(text, [*ast.walk(function)] if function is not None else []),
        key=lambda product: product.lineno,
    )
    for written in (flag, f"{flag}.float()"):
        new = f" * (1 - {written})"
        edits = tuple(Edit(text.span(product).end, new) for product in products)
        if edits:
            shown = f"`{text.written(products[0])}{new}`"
            yield Fix("fits", shown, edits)
