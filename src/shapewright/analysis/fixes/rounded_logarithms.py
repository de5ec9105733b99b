"""Numbers of layers that follow from a logarithm: `log(64) // log(2)` is 5, as the
quotient of two rounded logarithms may lie just below a whole number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name


def suggest_rounded_logarithms(program: Program) -> Iterator[Fix]:
    """Suggest `round(log(n) / log(2))` for `log(n) // log(2)` and `int(log(n, 2))`."""
    for text in program.own_texts():
        if "log(" not in text.text:
            continue
        for node in text.nodes:
            if _is_quotient(node, ast.FloorDiv):
                yield _round_quotient(text, node)
            elif isinstance(node, ast.Call) and get_called_name(node) == "int":
                inner = node.args[0] if len(node.args) == 1 else None
                of_base = isinstance(inner, ast.Call) and len(inner.args) == 2
                if inner is None:
                    continue
                is_log = of_base and get_called_name(inner) == "log"
                if is_log or _is_quotient(inner, ast.Div):
                    edit = Edit(text.span(node.func), "round")
                    new = f"round({join_lines(text.written(inner))})"
                    yield Fix("fits", f"`{new}`", (edit,))


def _is_quotient(node: ast.AST | None, kind: type[ast.operator]) -> bool:
    """Return whether an expression divides one logarithm by another."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, kind)
        and get_called_name(node.left) == get_called_name(node.right) == "log"
    )


def _round_quotient(text: SourceText, node: ast.AST) -> Fix:
    assert isinstance(node, ast.BinOp)
    new = f"round({text.written(node.left)} / {text.written(node.right)})"
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
