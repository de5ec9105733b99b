"""Edits that give a network steps of the scale that it is trained with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
)

FILLED = frozenset({"full", "full_like"})
TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


def suggest_trained_scale(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the division of the training, `t / steps`, for raw steps; the product for
    scaled ones, or the steps without their division.
    """
    place = program.node(finding.related[0].span) if finding.related else None
    trained = place[1] if place is not None else None
    if place is None or not isinstance(trained, ast.Call):
        return
    if "steps of another scale" not in finding.message:
        return
    if not isinstance(node, ast.Call) or len(node.args) != len(trained.args):
        return
    for asked, known in zip(node.args[1:], trained.args[1:], strict=True):
        scale = _find_scale(place[0], known)
        own = _find_scale(text, asked)
        if own is None or isinstance(own.op, ast.Mult):
            written = _write_scale(place[0], scale) or _write_count(text, asked)
            yield from _suggest_scaled(text, asked, *written) if written else ()
        elif scale is None:
            new = text.written(own.left)
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(own), new),))


def _suggest_scaled(
    text: SourceText, asked: ast.expr, sign: str, scale: str
) -> Iterator[Fix]:
    """Suggest a scaled value where a tensor is filled with it, and a scaled tensor."""
    for value in _list_values(text, asked):
        if get_called_name(value) in FILLED and isinstance(value, ast.Call):
            if len(value.args) < len(("size", "fill_value")):
                continue
            filled = value.args[1]
            if get_called_name(filled) == "float" and isinstance(filled, ast.Call):
                number = filled.args[0] if filled.args else filled
            else:
                number = filled
            new = f"{_write_operand(text, number, True)} {sign} {scale}"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(filled), new),))
    new = f"{_write_operand(text, asked, True)} {sign} {scale}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(asked), new),))


def _find_scale(text: SourceText, node: ast.expr) -> ast.BinOp | None:
    """Return the division or the product that an argument is, or that its function
    assigns to it.
    """
    for value in _list_values(text, node):
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div | ast.Mult):
            return value
    return None


def _list_values(text: SourceText, node: ast.expr) -> list[ast.expr]:
    """Return an argument, and what its function last assigns to a name above it."""
    if not isinstance(node, ast.Name):
        return [node]
    scope = text.around(node, *FUNCTIONS, ast.Module)
    values = [
        value
        for target, value in iter_assignments(scope)
        if isinstance(target, ast.Name) and target.id == node.id
        if value.lineno < node.lineno
    ]
    return [node, *sorted(values, key=lambda value: value.lineno)[-1:]]


def _write_scale(text: SourceText, scale: ast.BinOp | None) -> tuple[str, str] | None:
    """Return the sign and the number of a division or a product."""
    if scale is None:
        return None
    sign = "/" if isinstance(scale.op, ast.Div) else "*"
    return sign, _write_operand(text, scale.right)


def _write_count(text: SourceText, node: ast.expr) -> tuple[str, str] | None:
    """Return the division by the number of turns of the loop around a raw step, as
    `for i in reversed(range(steps))` has it.
    """
    loop = text.around(node, ast.For)
    turns = loop.iter if loop is not None else node
    if isinstance(turns, ast.Call) and get_called_name(turns) == "reversed":
        turns = turns.args[0]
    if not isinstance(turns, ast.Call) or get_called_name(turns) != "range":
        return None
    return ("/", _write_operand(text, turns.args[0])) if len(turns.args) == 1 else None


def _write_operand(text: SourceText, node: ast.expr, is_first: bool = False) -> str:
    """Return an expression as an operand, in brackets where it needs these."""
    written = text.written(node)
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)
    is_tight = isinstance(node, TIGHT) or (is_first and is_product)
    return written if is_tight else f"({written})"
