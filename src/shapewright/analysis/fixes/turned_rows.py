"""Tensors whose rows and columns are exchanged: `src, dst = edges` of `(n, 2)`, and a
sample of `n` features that is made a column of `(n, 1)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.python_error_values import FileValues
from shapewright.findings.codes import INNER_DIM_MISMATCH
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import join_lines
from shapewright.record.ops import Op


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


FARTHEST = 24
"""Calls between a column and the layer that wants its numbers as features."""
COLUMNS = {"unsqueeze": (".unsqueeze(0)", 1), "view": (".view(1, -1)", 2)}
COLUMNS["reshape"] = (".reshape(1, -1)", 2)
"""The row for a column, and how many arguments make the column, by the method."""


def suggest_row(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.unsqueeze(0)` for `x.unsqueeze(1)` of a single sample, a vector of as
    many numbers as a layer has input features.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or unmet.has != 1:
        return
    column = _find_column(program, op, unmet.needs)
    where = program.call_at(column.span) if column is not None else None
    if where is None or column is None:
        return
    text, call = where
    row, count = COLUMNS[column.name.rpartition(".")[2]]
    func = call.func
    if not isinstance(func, ast.Attribute) or text.written(func.value) == "torch":
        return
    if len(call.args) + len(call.keywords) != count:
        return
    owner = text.owner_span(func)
    tail = owner.end.until(text.span(call))
    shown = join_lines(text.at(owner) + row)
    yield Fix("fits", f"`{shown}`", (Edit(tail, row),))


def _find_column(program: Program, op: Op, needs: object) -> Op | None:
    """Return the call that made a column of a vector with so many numbers, if calls
    that keep its shape lead from there to a layer.
    """
    fact = op.inputs[0] if op.inputs else None
    shape = fact.shape if fact is not None else ()
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor) if fact is not None else None
        if maker is None or not maker.inputs or shape != (needs, 1):
            return None
        source = maker.inputs[0]
        if source.shape == (needs,):
            return maker if maker.name.rpartition(".")[2] in COLUMNS else None
        fact = next((f for f in maker.inputs if f.shape == shape), None)
    return None
