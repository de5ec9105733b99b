"""The value of an expression: literals and operators, and names that are given."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Container, Mapping
from typing import Any, NoReturn

Operators = Mapping[type[ast.AST], Callable[..., Any]]

OPERATORS: Operators = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip
COMPARISONS: Operators = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}  # fmt: skip


class UnknownValue(Exception):
    """Raised for a value that follows neither from the text nor from what is known of
    its names.
    """


def _refuse_value(node: ast.expr) -> NoReturn:
    """Raise `UnknownValue`, as `evaluate_node` does if nothing is known."""
    raise UnknownValue(type(node).__name__)


def evaluate_node(
    node: ast.expr,
    known: Callable[[ast.expr], Any] = _refuse_value,
    operators: Operators = OPERATORS,
    literals: Container[type] | None = None,
) -> Any:
    """Return the value of an expression; nothing of the program is run.

    `known` gives the value of all but literals, tuples, lists and these operators: of
    names, calls, items. With `literals`, no others are read, and no tuples and lists.

    Example: ``evaluate_node(node, lambda name: 3)`` is 7 for `2 * n + 1`.

    Raises `UnknownValue` where `known` does, and what an operator raises.
    """

    def inner(part: ast.expr) -> Any:
        return evaluate_node(part, known, operators, literals)

    match node:
        case ast.Constant(value) if literals is None or type(value) in literals:
            return value
        case ast.Tuple(items) if literals is None:
            return tuple([inner(item) for item in items])
        case ast.List(items) if literals is None:
            return [inner(item) for item in items]
        case ast.BinOp(left, sign, right) if type(sign) in operators:
            return operators[type(sign)](inner(left), inner(right))
        case ast.Compare(left, [sign], [right]) if type(sign) in operators:
            return operators[type(sign)](inner(left), inner(right))
        case ast.UnaryOp(sign, operand) if type(sign) in operators:
            return operators[type(sign)](inner(operand))
    return known(node)


def _raise_to_power(base: int, exponent: int) -> Any:
    """Return a power with a small exponent; raise `UnknownValue` for a large one."""
    if 0 <= exponent <= 16:
        return base**exponent
    raise UnknownValue("a large power")


SIGNED: Operators = {ast.USub: operator.neg}
"""Operators of `evaluate_whole_number` with which only a literal counts: `-2`."""
WHOLE: Operators = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.USub: operator.neg, ast.Pow: _raise_to_power,
}  # fmt: skip


def evaluate_whole_number(node: ast.expr, operators: Operators = WHOLE) -> int | None:
    """Return the value of an expression of integers, such as 400 for `16 * 5 * 5`, or
    None.
    """
    try:
        value: int = evaluate_node(node, operators=operators, literals=(int,))
    except (UnknownValue, ZeroDivisionError):
        return None
    return value
