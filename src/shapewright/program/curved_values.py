"""Exponentials and roots in a text: functions whose mean is not that of the mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

CURVES = {
    "exp": ("exponentials", "the exponential", "larger"),
    "sqrt": ("roots", "the root", "smaller"),
}
"""The functions: their values, the value of one number, the mean beside it."""

MODULES = frozenset({"torch", "math", "np", "numpy"})


@dataclass(frozen=True, slots=True)
class CurvedValue:
    """An exponential or a root: its node, what it is of without conversions such as
    `.item()`, and the name that it is assigned, if any. `argument` has them still.
    """

    node: ast.expr
    kind: str
    argument: ast.expr
    inner: ast.expr
    name: str


def iter_curved_values(text: SourceText) -> Iterator[CurvedValue]:
    """Yield the calls `torch.exp(x)`, `math.exp(x)`, `x.exp()` and `x ** 0.5`."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) in CURVES:
            kind, argument = get_called_name(node), _get_argument(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            is_root = isinstance(node.right, ast.Constant) and node.right.value == 0.5
            kind, argument = "sqrt", node.left if is_root else None
        else:
            continue
        if argument is not None:
            name = find_assigned_name(text, node)
            inner = _strip_conversions(argument)
            yield CurvedValue(node, kind, argument, inner, name)


def _get_argument(call: ast.Call) -> ast.expr | None:
    """Return the number or tensor that a function or a method is of."""
    func = call.func
    if isinstance(func, ast.Attribute) and get_dotted_name(func.value) not in MODULES:
        return None if call.args else func.value
    return call.args[0] if call.args else None


def _strip_conversions(node: ast.expr) -> ast.expr:
    """Return `loss` of `loss.detach().item()`, `float(loss)` and `loss.data`."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
            continue
        if not isinstance(node, ast.Call):
            return node
        func = node.func
        is_method = isinstance(func, ast.Attribute) and not node.args
        if is_method and get_called_name(node) not in (*CURVES, "log"):
            if get_dotted_name(func.value) in MODULES:  # type: ignore[attr-defined]
                return node
            node = func.value  # type: ignore[attr-defined]
        elif get_called_name(node) in ("float", "tensor") and len(node.args) == 1:
            node = node.args[0]
        else:
            return node


def find_assigned_name(text: SourceText, node: ast.expr) -> str:
    """Return the name that a value is assigned, perhaps as a number; else an empty
    string.
    """
    outer: ast.AST | None = node
    while isinstance(outer, ast.expr):
        holder = text.parent(outer)
        if isinstance(holder, ast.Assign) and len(holder.targets) == 1:
            is_same = _strip_conversions(holder.value) is node
            return get_dotted_name(holder.targets[0]) if is_same else ""
        outer = holder
    return ""
