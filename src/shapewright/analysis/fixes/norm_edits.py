"""Edits for norms whose channels are in another dim than the one they read."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import CHANNELS_LAST
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.syntax_nodes import get_last_name
from shapewright.record.ops import Op


def move_channels_last(program: Program, op: Op) -> Iterator[Fix]:
    """Move the channels to the last dim before a norm of the last dim, and back
    afterwards.
    """
    text_and_call = program.call_at(op.span)
    rank = len(op.inputs[0].shape)
    there, back = (".permute(0, 2, 3, 1)", ".permute(0, 3, 1, 2)")
    if rank == 3:
        there = back = ".transpose(1, 2)"
    if text_and_call is None or rank not in (3, 4):
        return
    text, call = text_and_call
    if call.args and program.layer(op) is not None:
        inner = append_method(text, call.args[0], there)
        shown = text.written(call.func) + f"({inner.message.strip('`')}){back}"
        edits = (*inner.edits, Edit(text.span(call).end, back))
        yield Fix("fits", f"`{shown}`", edits)


def move_channels_second(program: Program, failure: Failure) -> Iterator[Fix]:
    """Move the channels of a sequence to dim 1 for a batch norm, and back afterwards:
    `self.norm(x.transpose(1, 2)).transpose(1, 2)`.
    """
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    if failure.unmet is None or failure.unmet.code != CHANNELS_LAST:
        return
    if text_and_call is None or "conv" in op.name or len(op.inputs[0].shape) != 3:
        return
    text, call = text_and_call
    if call.args and program.layer(op) is not None:
        turn = ".transpose(1, 2)"
        inner = append_method(text, call.args[0], turn)
        shown = f"{text.written(call.func)}({inner.message.strip('`')}){turn}"
        edits = (*inner.edits, Edit(text.span(call).end, turn))
        yield Fix("fits", f"`{shown}`", edits)


def suggest_group_norm(program: Program, op: Op) -> Iterator[Fix]:
    """Suggest `nn.GroupNorm(1, 16)` for `nn.LayerNorm(16)` over the 16 channels of
    images.
    """
    layer = program.layer(op)
    constructor = find_constructor(program, layer.path) if layer is not None else None
    if constructor is None or len(op.inputs[0].shape) != 4 or len(op.inputs) < 2:
        return
    text, call = constructor
    channels = op.inputs[1].shape
    if len(channels) != 1 or op.inputs[0].shape[1] != channels[0]:
        return
    if get_last_name(call.func) != "LayerNorm" or len(call.args) != 1 or call.keywords:
        return
    owner = text.written(call.func).removesuffix("LayerNorm")
    new = f"{owner}GroupNorm(1, {text.written(call.args[0])})"
    yield Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
