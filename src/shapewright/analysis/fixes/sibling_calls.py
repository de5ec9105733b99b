"""A view that lacks the `permute` which another one beside it has, of the same maps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS

VIEWING = ("view", "reshape")


def suggest_permute_of_sibling(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `boxes(f).permute(0, 2, 3, 1).reshape(n, -1, 4)` for
    `boxes(f).reshape(n, 4, -1)`, where `classes(f)` has its channels last.
    """
    op = program.trace.ops[failure.op]
    for maker in iter_makers(program, op):
        text_and_call = program.call_at(maker.span)
        if text_and_call is None or maker.name.rpartition(".")[2] not in VIEWING:
            continue
        text, call = text_and_call
        base = _get_receiver(call, *VIEWING)
        if not isinstance(base, ast.Call):
            continue
        for permuted, order in _iter_siblings(text, call, base):
            sizes = [text.written(a) for a in call.args if text.written(a) != "-1"]
            rows = [text.written(a) for a in permuted.args]
            if len(sizes) != 2 or len(rows) != 3 or rows[:2] != [sizes[0], "-1"]:
                continue
            new = f"{text.written(base)}.permute({order})"
            new += f".{_get_method(call)}({sizes[0]}, -1, {sizes[1]})"
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def _iter_siblings(
    text: SourceText, call: ast.Call, base: ast.Call
) -> Iterator[tuple[ast.Call, str]]:
    """Yield the views beside a call, of another layer's maps of the same input, that
    move the channels last; each with the order of its dims.
    """
    scope = text.around(call, *FUNCTIONS)
    arguments = [text.written(argument) for argument in base.args]
    for node in text.nodes:
        if not isinstance(node, ast.Call) or node is call:
            continue
        if text.around(node, *FUNCTIONS) is not scope:
            continue
        turned = _get_receiver(node, *VIEWING)
        maps = _get_receiver(turned, "permute")
        if not isinstance(turned, ast.Call) or not isinstance(maps, ast.Call):
            continue
        if [text.written(argument) for argument in maps.args] == arguments:
            yield node, ", ".join(text.written(part) for part in turned.args)


def _get_receiver(node: ast.AST | None, *methods: str) -> ast.expr | None:
    """Return `x` of `x.method(...)`, for one of some methods."""
    func = node.func if isinstance(node, ast.Call) else None
    is_method = isinstance(func, ast.Attribute) and func.attr in methods
    return func.value if is_method and isinstance(func, ast.Attribute) else None


def _get_method(call: ast.Call) -> str:
    """Return the name of the method that a call calls."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""
