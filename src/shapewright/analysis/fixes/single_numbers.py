"""Edits for tensors of several elements where a single number is needed: `item()`, and
formats such as `{loss:.3f}`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.record.ops import Fact


def suggest_single_number(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `losses.mean().item()`, or the sum where it is divided by a number of
    samples later.
    """
    op = program.trace.ops[failure.op]
    place = program.call_at(op.span)
    if op.name.rpartition(".")[2] != "item" or place is None or not op.inputs:
        return
    text, call = place
    owner = get_receiver(call)
    if owner is None or not op.inputs[0].shape:
        return
    if op.inputs[0].dtype == "int64" and _is_index(program, op.inputs[0]):
        return  # a sum of classes is no class
    methods = [".mean()", ".sum()"]
    if _is_divided_by_samples(text, call):
        methods.reverse()
    for method in methods:
        yield append_method(text, owner, method)


def _is_index(program: Program, fact: Fact) -> bool:
    """Return whether a tensor holds indices, as `argmax` and `max(1)[1]` give them."""
    maker = program.producers.get(fact.tensor)
    name = maker.name.rpartition(".")[2] if maker is not None else ""
    return name in INDICES


INDICES = operators_with("returns_indices", "returns_values_and_indices")


def _is_divided_by_samples(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call's result is added up, and the sum divided by another count
    than that of the batches, `len(loader)`.
    """
    statement = text.statement_of(call)
    if not isinstance(statement, ast.AugAssign):
        return False
    total = text.written(statement.target)
    for node in text.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        if text.written(node.left) == total and node.lineno >= call.lineno:
            return "loader" not in text.written(node.right).lower()
    return False


FORMAT = re.compile(r"^the format `(.*)` takes")


def suggest_formatted_number(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `{error.item():.3f}` for a tensor of one element that has a dim."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    words = FORMAT.search(unmet.message) if unmet is not None else None
    place = program.node(op.span)
    if words is None or place is None or not op.inputs:
        return
    text, node = place
    statement = node if isinstance(node, ast.stmt) else text.statement_of(node)
    if set(op.inputs[0].shape) != {1}:
        return
    method = ".item()"
    values = [
        part.value
        for part in ast.walk(statement)
        if isinstance(part, ast.FormattedValue)
        and isinstance(part.format_spec, ast.JoinedStr)
        and _write_format(part.format_spec) == words[1]
        and isinstance(part.value, ast.Name | ast.Attribute | ast.Subscript)
    ]
    for value in values if len(values) == 1 else ():
        written = ast.unparse(value)  # places within texts are wrong before Python 3.12
        start = f"{{{written}:"
        for line in range(statement.lineno, (statement.end_lineno or 0) + 1):
            at = text.lines[line - 1].find(start)
            if at >= 0:
                end = at + len(start)
                span = Span(text.file, line, end, line, end)
                shown = f"`{{{written}{method}:{words[1]}}}`"
                yield Fix("fits", shown, (Edit(span, method),))
                return


def _write_format(spec: ast.JoinedStr) -> str:
    """Return a format that is written in full, `.3f`."""
    parts = [part.value for part in spec.values if isinstance(part, ast.Constant)]
    return "".join(map(str, parts)) if len(parts) == len(spec.values) else ""
