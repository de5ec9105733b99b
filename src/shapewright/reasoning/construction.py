"""The call that constructed a layer, read from the program's text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from shapewright.reasoning.program import Program
from shapewright.source.expressions import Text


def constructor(program: Program, module: str) -> tuple[Text, ast.Call] | None:
    """The call that constructed the module at a path."""
    built = program.built.get(module)
    found = program.node(built.span) if built is not None else None
    if found is None or not isinstance(found[1], ast.Call):
        return None
    return found[0], found[1]


def arguments_with(
    program: Program, module: str
) -> Iterator[tuple[str, ast.expr, Any]]:
    """Name, expression and value of each argument of a module's constructor.

    The value is None where the text alone does not tell it.
    """
    found = constructor(program, module)
    built = program.built.get(module)
    if found is None or built is None:
        return
    _, call = found
    values = dict(built.values)
    for name, node in zip(built.arguments, call.args, strict=False):
        if isinstance(node, ast.Starred):
            return
        yield name, node, values.get(name, known_value(node))
    for word in call.keywords:
        if word.arg is not None:
            value = values.get(word.arg, known_value(word.value))
            yield word.arg, word.value, value


def known_value(node: ast.expr) -> int | None:
    """The value of an expression of whole numbers: 400 for `16 * 5 * 5`."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = known_value(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.BinOp):
        left, right = known_value(node.left), known_value(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.FloorDiv) and right:
            return left // right
        if isinstance(node.op, ast.Pow) and 0 <= right <= 16:
            return int(left**right)
    return None
