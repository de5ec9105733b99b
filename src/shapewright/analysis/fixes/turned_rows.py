"""Tensors whose rows are unpacked where their columns are meant: `src, dst = edges` of
`(n, 2)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.python_error_values import FileValues
from shapewright.findings.finding import Edit, Finding, Fix


def suggest_columns(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `src, dst = edges.t()` for a tensor with as many columns as there are
    names.
    """
    text_and_node = program.node(finding.span)
    if program.ending is None or text_and_node is None:
        return
    text, node = text_and_node
    holder = text.parent(node)
    if not isinstance(node, ast.Tuple | ast.List) or not isinstance(holder, ast.Assign):
        return
    if program.ending.error != "ValueError" or isinstance(holder.value, ast.Call):
        return
    fact = FileValues(program, text, program.ending).tensor(holder.value)
    count = len(node.elts)
    if fact is None or len(fact.shape) < 2 or fact.shape[0] == count:
        return
    if fact.shape[-1] != count:
        return
    ending = ".t()" if len(fact.shape) == 2 else ".unbind(-1)"
    new = f"{text.written(holder.value)}{ending}"
    yield Fix("fits", f"`{new}`", (Edit(text.span(holder.value).end, ending),))
