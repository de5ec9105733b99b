"""Weights of functions that have their rows as columns."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure


def suggest_transposed_weight(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `F.linear(x, w.t())` for a weight that has its rows as columns."""
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if op.name.rpartition(".")[2] != "linear" or text_and_call is None:
        return
    if program.layer(op) is not None and len(text_and_call[1].args) < 2:
        return  # the weight is the layer's own
    data, weight = op.inputs[0].shape, op.inputs[1].shape
    place = find_tensor_expressions(program, op)[1]
    if len(weight) == 2 and data[-1:] == weight[:1] and place is not None:
        yield append_method(text_and_call[0], place[0], ".t()")
