"""Masks of what is later and masks of padding that are joined without the dims between
them; inputs of which time and features have changed places.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    INNER_DIM_MISMATCH,
    RNN_INPUT_SIZE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

JOINED = frozenset({"|", "&", "logical_or", "logical_and", "__or__", "__and__", "or",
                    "and", "bitwise_or", "bitwise_and", "+"})  # fmt: skip
CONVOLUTIONS = operators_with("is_convolution")
OF_WIDTHS = frozenset({INNER_DIM_MISMATCH, RNN_INPUT_SIZE})


def suggest_dims_of_padding(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `causal | pad[:, None, None, :]` for a mask of each sample that meets one
    of steps and steps.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != BROADCAST_MISMATCH or len(op.inputs) != 2:
        return
    if op.name.rpartition(".")[2].strip("_") not in JOINED:
        return
    place = program.node(op.span)
    if place is None:
        return
    for at, fact in enumerate(op.inputs):
        other = op.inputs[1 - at].shape
        expression = find_tensor_expressions(program, op)[at]
        is_square = len(other) == 2 and other[0] == other[1]
        if fact.ndim != 2 or not is_square or fact.shape[1] != other[1]:
            continue
        if fact.shape[0] == other[0] or expression is None:
            continue
        node = expression[0]
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            continue
        for dims in ("[:, None, None, :]", "[:, None, :]"):
            edit = Edit(place[0].span(node).end, dims)
            yield Fix("fits", f"`{place[0].written(node)}{dims}`", (edit,))


def suggest_turned_picture(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `self.conv(x.transpose(1, 2).unsqueeze(1))` where a layer behind the
    convolutions fits a picture that is turned, such as a spectrum with the time first.
    """
    unmet, failed = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_WIDTHS:
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int:
        return
    maps = [
        op
        for op in program.trace.ops[: failure.op]
        if op.name.rpartition(".")[2] in CONVOLUTIONS and op.outputs[0].ndim == 4
    ]
    if not maps:
        return
    _, channels, height, width = maps[-1].outputs[0].shape
    if {has, needs} != {channels * height, channels * width} or height == width:
        return
    source = program.producers.get(maps[0].inputs[0].tensor)
    place = program.call_at(source.span) if source is not None else None
    if source is None or place is None or source.inputs[0].ndim != 3:
        return
    text, call = place
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    is_own = text.around(call, *FUNCTIONS) is not None and failed.module != ""
    if get_called_name(call) == "unsqueeze" and owner is not None and is_own:
        edit = Edit(text.owner_span(call.func).end, ".transpose(1, 2)")  # type: ignore[arg-type]
        shown = f"`{text.written(owner)}.transpose(1, 2)`"
        yield Fix("fits", shown, (edit,))
