"""Edits of convolutions that see later steps: padding on the left alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name


def suggest_left_padding(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `F.pad(x, (2 * pad, 0))` for `F.pad(x, (pad, pad))`, and a layer of
    padding in front of a convolution without any.
    """
    if "padding on both sides" not in finding.message or not isinstance(node, ast.Call):
        return
    if get_called_name(node) == "pad":
        values = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "pad")]
        sides = values[0] if values else None
        if isinstance(sides, ast.Tuple | ast.List) and len(sides.elts) == 2:
            new = f"({_add(text, *sides.elts)}, 0)"
            yield Fix("fits", f"`{new}`", (Edit(text.span(sides), new),))
        return
    place = find_constructor(program, finding.module)
    if place is None or get_called_name(place[1]) != "Conv1d":
        return
    where, layer = place
    words = [word for word in layer.keywords if word.arg == "padding"]
    if len(words) != 1 or not _is_number(words[0].value):
        return
    both = _add(where, words[0].value, words[0].value)
    rest = [where.written(arg) for arg in layer.args]
    rest += [
        f"{word.arg}={where.written(word.value)}"
        for word in layer.keywords
        if word.arg != "padding"
    ]
    name = where.written(layer.func)
    owner = name.removesuffix("Conv1d")
    pair = f"{owner}ConstantPad1d(({both}, 0), 0.0), {name}({', '.join(rest)})"
    outer = where.parent(layer)
    inside = isinstance(outer, ast.Call) and get_called_name(outer) == "Sequential"
    new = pair if inside else f"{owner}Sequential({pair})"
    if owner or inside:
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(where.span(layer), new),))


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression may be one number."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return not isinstance(node, ast.Tuple | ast.List)


def _add(text: SourceText, first: ast.expr, second: ast.expr) -> str:
    """Return the sum of two paddings as text: `2 * pad`."""
    left, right = text.written(first), text.written(second)
    if isinstance(first, ast.Constant) and isinstance(second, ast.Constant):
        return str(first.value + second.value)  # type: ignore[operator]
    if left != right:
        return f"{left} + {right}"
    is_plain = isinstance(first, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"2 * {left}" if is_plain else f"2 * ({left})"
