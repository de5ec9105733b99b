"""The tensor that a program writes into a layer as its weight, in a shape that the
layer cannot use: `conv.weight.data = w.mean(1)` for `w.mean(1, keepdim=True)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.written_states import iter_written_states
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText

REDUCING = operators_with("reduces_dims")


def suggest_dims_of_weight(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the weight with the dim that a mean or an index removed, or with its two
    dims exchanged, where the program wrote it into the layer.
    """
    for _, fact, giver in iter_written_states(program, failure):
        place = program.node(giver.span)
        if place is None:
            continue
        text, node = place
        name = giver.name.rpartition(".")[2]
        if name in REDUCING and isinstance(node, ast.Call):
            yield with_keyword(text, node, "keepdim=True")
        elif isinstance(node, ast.Subscript):
            yield from _suggest_whole_index(text, node)
        elif fact.ndim == 2 and isinstance(node, ast.expr):
            yield _suggest_turned(text, node, name)


def _suggest_whole_index(text: SourceText, node: ast.Subscript) -> Iterator[Fix]:
    """Suggest `w[:, 0:1]` for `w[:, 0]`."""
    index = node.slice
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    for item in items:
        if isinstance(item, ast.Constant) and type(item.value) is int:
            at, new = text.span(item), f"{item.value}:{item.value + 1}"
            shown = text.written(node)
            before = text.written(node.value)
            inner = shown[len(before) :].replace(text.written(item), new, 1)
            yield Fix("fits", f"`{before}{inner}`", (Edit(at, new),))


def _suggest_turned(text: SourceText, node: ast.expr, name: str) -> Fix:
    """Suggest a matrix turned round, or as it was before it was turned."""
    span = text.span(node)
    is_turned = name in ("t", "T") and isinstance(node, ast.Call | ast.Attribute)
    if is_turned:
        inner = node.func if isinstance(node, ast.Call) else node
        assert isinstance(inner, ast.Attribute)
        new = text.written(inner.value)
    else:
        whole = text.written(node)
        new = f"({whole}).t()" if isinstance(node, ast.BinOp) else f"{whole}.t()"
    return Fix("fits", f"`{new}`", (Edit(span, new),))
