"""A number of positions that a call is given, where the tensor that is read at each of
them has another length: `seq=max_len` for `seq=1024`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.scope_tensors import list_scope_facts
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    list_arguments,
    list_parameters,
)
from shapewright.record.ops import Op

RANGES = operators_with("is_range_factory")


def suggest_counted_positions(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the name of the length, or the length of the tensor itself, for a number
    of positions with which the failing line was called.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or len(op.inputs) < 2:
        return
    maker = program.producers.get(op.inputs[1].tensor)
    size, count = unmet.needs, op.inputs[1].numel
    if maker is None or maker.name.rpartition(".")[2] not in RANGES:
        return
    if type(size) is not int or not 1 < size < count or maker.inputs:
        return
    for frame in op.frames:
        place = program.call_at(frame.span)
        if place is None:
            continue
        text, call = place
        for argument in list_arguments(call):
            if evaluate_whole_number(argument) != count:
                continue
            for name in _iter_lengths(program, op, text, argument, size):
                shown = join_lines(text.written(call.func))
                word = text.parent(argument)
                before = f"{word.arg}=" if isinstance(word, ast.keyword) else ""
                message = f"`{before}{name}` in the call of `{shown}`"
                yield Fix("fits", message, (Edit(text.span(argument), name),))


def _iter_lengths(
    program: Program, op: Op, text: SourceText, node: ast.expr, size: int
) -> Iterator[str]:
    """Yield what has a value in the function around a node: a parameter, or the first
    dim of the tensor that is read.
    """
    scope = text.around(node, *FUNCTIONS)
    names = list_parameters(scope) if isinstance(scope, ast.FunctionDef) else []
    for name in names:
        values = {evaluate_whole_number(value) for value in find_defining(text, name)}
        if values - {None} == {size}:
            yield name
    for name, fact in list_scope_facts(program, op, text, node).items():
        if name.isidentifier() and fact.shape == op.inputs[0].shape:
            yield f"{name}.size(0)"
