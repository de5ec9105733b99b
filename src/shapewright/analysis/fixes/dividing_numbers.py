"""Numbers of groups or heads that divide what they split: 4 for 32 channels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.numbers_and_names import replace_number
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_last_name

MOST = 3
"""Numbers that are tried."""


def suggest_dividing_number(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest another number where it is set, if a view splits a size by one that does
    not divide it: `x.view(n, groups, c // groups, h, w)`.
    """
    op = program.trace.ops[failure.op]
    place = program.call_at(op.span)
    numbers = [value for key, value in op.arguments if key != "0"]
    sizes = numbers[0] if numbers and isinstance(numbers[0], tuple) else tuple(numbers)
    if place is None or not op.inputs:
        return
    text, call = place
    nodes = list(call.args)
    if len(nodes) == len(sizes) + 1:  # `torch.reshape(x, ...)`
        nodes = nodes[1:]
    if len(nodes) == 1 and isinstance(nodes[0], ast.Tuple | ast.List):
        nodes = nodes[0].elts
    if len(nodes) != len(sizes):
        return
    values = {ast.unparse(n): size for n, size in zip(nodes, sizes, strict=True)}
    for node, quotient in zip(nodes, sizes, strict=True):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
            continue
        number = values.get(ast.unparse(node.right))
        if type(number) is not int or number < 2:
            continue
        wholes = [
            size
            for size in op.inputs[0].shape
            if size // number == quotient and size % number
        ]
        for whole in wholes[:1]:
            fitting = [n for n in range(2, whole) if whole % n == 0]
            fitting.sort(key=lambda n: (abs(n - number), -n))
            for new in fitting[:MOST]:
                for where, constant in _iter_settings(text, node.right, number, set()):
                    yield replace_number(where, constant, str(new))


def _iter_settings(
    text: SourceText, node: ast.expr, number: int, seen: set[str]
) -> Iterator[tuple[SourceText, ast.Constant]]:
    """Yield the constants from which a name gets a number."""
    if isinstance(node, ast.Constant):
        if node.value == number:
            yield text, node
        return
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        for part in text.nodes:
            for key, value in (
                zip(part.keys, part.values, strict=True)
                if isinstance(part, ast.Dict)
                else ()
            ):
                if isinstance(key, ast.Constant) and key.value == node.slice.value:
                    yield from _iter_settings(text, value, number, seen)
        return
    name = get_last_name(node)
    if name in seen:
        return
    seen.add(name)
    for value in find_defining(text, name):
        yield from _iter_settings(text, value, number, seen)
