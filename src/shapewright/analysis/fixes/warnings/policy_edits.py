"""Edits of the ratios of clipped policy objectives, and of the values of actions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_dotted_name,
    iter_assignments,
)


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
    if "one number for all" not in finding.message:
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


ACTIONS = re.compile(r"(b_|mb_|batch_)?(a|acts?|actions?)(_?(b|batch|t|tensor))?")
"""Names of the actions of a batch."""


def suggest_chosen_action(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `net(states).gather(1, actions)` for all values of actions, where nothing
    reads the actions.
    """
    values = node.args[0] if isinstance(node, ast.Call) and node.args else None
    scope = text.around(node, *FUNCTIONS)
    if "outputs of a sample" not in finding.message or scope is None or values is None:
        return
    names = [part for part in ast.walk(scope) if isinstance(part, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    kept = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    actions = sorted(name for name in kept - read if ACTIONS.fullmatch(name))
    if len(actions) != 1:
        return
    if isinstance(values, ast.Name):
        defining = [
            value
            for target, value in iter_assignments(scope)
            if isinstance(target, ast.Name) and target.id == values.id
        ]
        if len(defining) != 1:
            return
        values = defining[0]
    if isinstance(values, ast.Call):
        for index in (actions[0], f"{actions[0]}.unsqueeze(1)"):
            yield append_method(text, values, f".gather(1, {index})")
