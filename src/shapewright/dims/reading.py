"""A formula from its text, as it was written.

>>> str(read("16*((H - 12)//4)"))
'16*((H - 12)//4)'
"""

from __future__ import annotations

import ast

from shapewright.dims.expression import (
    Absolute,
    Clamped,
    Expression,
    Letter,
    Quotient,
    Remainder,
    number,
)
from shapewright.dims.several import least, most, product


def read(text: str) -> Expression:
    """The formula in a text. Raises `ValueError` for what is none."""
    if text == "?":  # a size that has no formula
        return Letter(text)
    try:
        return _read(ast.parse(text, mode="eval").body)
    except SyntaxError:
        raise ValueError(f"no formula: {text!r}") from None


def _read(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int(value)):
            return number(value)
        case ast.Name(id=name):
            return Letter(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _joined(operator, _read(left), right)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _called(name, [_read(each) for each in args])
    raise ValueError(f"no formula: {ast.unparse(node)!r}")


def _joined(operator: ast.operator, left: Expression, node: ast.expr) -> Expression:
    right = _read(node)
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return product([left, right])
        case ast.Pow() if isinstance(node, ast.Constant) and isinstance(
            node.value, int
        ):
            return product([left] * node.value)
        case ast.FloorDiv() if isinstance(node, ast.Constant):
            return Quotient(left, right.value({}))
        case ast.Mod() if isinstance(node, ast.Constant):
            return Remainder(left, right.value({}))
    raise ValueError("no formula")


def _called(name: str, parts: list[Expression]) -> Expression:
    if name == "abs" and len(parts) == 1:
        return Absolute(parts[0])
    if name not in ("min", "max") or len(parts) < 2:
        raise ValueError("no formula")
    first, second = parts[0], parts[1]
    if len(parts) == 2 and not second.letters():
        bound = second.value({})
        if name == "min":
            if isinstance(first, Clamped) and first.high is None:
                return Clamped(first.over, first.low, bound)
            return Clamped(first, None, bound)
        return Clamped(first, bound, None)
    return least(parts) if name == "min" else most(parts)
