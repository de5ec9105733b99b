"""Tables with a row for each number that occurs: ids go up to the largest of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import get_called_name, get_last_name


def suggest_largest_id(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `ids.max() + 1` rows where a table has `ids.nunique()` of them."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    layer = program.layer(op)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    constructor = find_constructor(program, layer.path)
    if type(unmet.has) is not int or unmet.has < 0 or constructor is None:
        return
    text = constructor[0]
    for _, node, value in iter_arguments(program, layer.path):
        if value != unmet.needs:
            continue
        for count in _iter_sources(text, node):
            ids = _get_counted(text, count)
            if ids:
                new = f"{ids}.max() + 1"
                yield Fix("fits", f"`{new}`", (Edit(text.span(count), new),))
                return


def _iter_sources(text: SourceText, node: ast.expr) -> Iterator[ast.expr]:
    """Yield an argument, then what its name is given where that is only one thing."""
    for _ in range(3):
        yield node
        name = get_last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        values = find_defining(text, name)
        if len(values) != 1:
            return
        node = values[0]


def _get_counted(text: SourceText, node: ast.expr) -> str:
    """Return what a call counts the different numbers of: `ids` of `ids.nunique()`, of
    `len(ids.unique())` and of `len(np.unique(ids))`; else nothing.
    """
    if not isinstance(node, ast.Call):
        return ""
    name, owner = get_called_name(node), get_receiver(node)
    if name == "nunique" and owner is not None and not node.args:
        return join_lines(text.written(owner))
    if name != "len" or len(node.args) != 1 or not isinstance(node.args[0], ast.Call):
        return ""
    inner = node.args[0]
    if get_called_name(inner) != "unique":
        return ""
    owner = get_receiver(inner)
    written = text.written(owner) if owner is not None else ""
    if written in ("np", "numpy", "torch", "pd"):
        owner = inner.args[0] if len(inner.args) == 1 else None
    is_simple = isinstance(owner, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return join_lines(text.written(owner)) if owner is not None and is_simple else ""
