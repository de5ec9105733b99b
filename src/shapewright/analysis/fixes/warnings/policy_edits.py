"""Edits of the ratios of clipped policy objectives, and of the values of actions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_dotted_name


def suggest_ratio(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `exp` of a difference, its operands exchanged, or limits around 1."""
    if isinstance(node, ast.BinOp) and "log probabilit" in finding.message:
        left, right = text.written(node.left), text.written(node.right)
        if "before the new one" in finding.message:
            if not isinstance(node.left, ast.Name | ast.Attribute | ast.Subscript):
                return
            new = f"{right} - {left}"
        else:
            new = f"torch.exp({left} - {right})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
    elif isinstance(node, ast.Call) and "is clipped to" in finding.message:
        limits = [*node.args[-2:]] if not node.keywords else [
            part.value for part in node.keywords if part.arg in ("min", "max")
        ]  # fmt: skip
        if len(limits) != 2 or not isinstance(limits[0], ast.UnaryOp):
            return
        low, high = text.written(limits[0].operand), text.written(limits[1])
        words = f"1 - {low}", f"1 + {high}"
        edits = tuple(
            Edit(text.span(limit), word)
            for limit, word in zip(limits, words, strict=True)
        )
        yield Fix("fits", f"`{words[0]}` and `{words[1]}` as the limits", edits)


def suggest_largest_of_sample(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `q.max(dim=1).values` for `q.max()`."""
    if "the largest value of each sample" not in finding.message:
        return
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(node, ast.Call):
        return
    if get_dotted_name(function.value) == "torch" and len(node.args) != 1:
        return
    values = node.args[0] if node.args else function.value
    keeping = ", keepdim=True" if "kept as a column" in finding.message else ""
    new = f"{text.written(values)}.max(dim=1{keeping}).values"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
