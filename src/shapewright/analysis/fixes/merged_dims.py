"""Dims that are to be merged before a call: `boxes.flatten(1, 2)`, of which a mask
chooses, or which meets what is flat already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import prod

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    BROADCAST_MISMATCH,
    INNER_DIM_MISMATCH,
    MASK_SHAPE,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.source_text import join_lines
from shapewright.program.syntax_nodes import get_called_name

OF_EQUALS = frozenset({BROADCAST_MISMATCH, TARGET_SHAPE})
"""Codes of calls whose operands are to have one shape."""


def suggest_merged_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x.flatten(1, 2)` for the operand with more dims, where this gives it the
    shape of the other; of a mask and what it chooses from, the dims of the mask.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or len(op.inputs) < 2:
        return
    pairs: list[tuple[int, int, bool]] = []
    if unmet.code == MASK_SHAPE:
        masks = [n for n, fact in enumerate(op.inputs) if n and fact.dtype == "bool"]
        pairs = [(0, mask, True) for mask in masks]
        for mask in masks:
            if prod(op.inputs[mask].shape) == op.inputs[0].shape[0]:
                yield from _merge(program, failure, mask, ".flatten()")
    elif unmet.code in OF_EQUALS:
        pairs = [(0, 1, False), (1, 0, False)]
    for more, less, is_mask in pairs:
        shape, wanted = op.inputs[more].shape, op.inputs[less].shape
        for first, last in combinations(range(len(shape)), 2):
            size = prod(shape[first : last + 1])
            merged = (*shape[:first], size, *shape[last + 1 :])
            front = merged[: len(wanted)] if is_mask else merged
            if 1 in shape[first : last + 1]:
                continue  # a squeeze says what is meant
            if front == wanted and len(wanted) > first:
                method = f".flatten({first}, {last})"
                if first == 0 and last == len(shape) - 1:
                    method = ".flatten()"
                yield from _merge(program, failure, more, method)


def suggest_other_merged_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `logits.flatten(0, 1)` for `logits.flatten(0, -1)`, where the dims that
    are merged so are those which the call needs.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_MERGED or len(op.inputs) < 2:
        return
    for at, fact in enumerate(op.inputs[:2]):
        maker = program.producers.get(fact.tensor)
        text_and_call = program.call_at(maker.span) if maker is not None else None
        if maker is None or text_and_call is None or not maker.inputs:
            continue
        text, call = text_and_call
        if get_called_name(call) != "flatten" or call.keywords:
            continue
        whole, other = maker.inputs[0].shape, op.inputs[1 - at].shape
        numbers = [evaluate_whole_number(node, SIGNED) for node in call.args]
        own = call.args if numbers and numbers[0] is not None else call.args[1:]
        if not own:
            continue  # a flatten that takes the batch with it
        for first, last in combinations(range(len(whole)), 2):
            size = prod(whole[first : last + 1])
            merged = (*whole[:first], size, *whole[last + 1 :])
            if merged == fact.shape or not _is_met(unmet.code, merged, other, at):
                continue
            words = f"{first}, {last}" if last < len(whole) - 1 else f"{first}"
            begin, end = text.span(own[0]), text.span(own[-1])
            place = replace(begin, end_line=end.end_line, end_column=end.end_column)
            func = text.written(call.func)
            shown = f"{func}({words})" if own == call.args else f"{func}(..., {words})"
            yield Fix("fits", f"`{join_lines(shown)}`", (Edit(place, words),))


def _is_met(
    code: str, merged: tuple[int, ...], other: tuple[int, ...], at: int
) -> bool:
    """Return whether a call that failed takes an operand of this shape."""
    if code == INNER_DIM_MISMATCH:
        return merged[-1] == other[-1] if at == 0 else False
    if code == TARGET_SHAPE and at == 0 and len(merged) == len(other) + 1:
        return merged[:1] + merged[2:] == other  # classes in dim 1
    return merged == other


OF_MERGED = OF_EQUALS | {BATCH_DIM_MISMATCH, INNER_DIM_MISMATCH}
"""Codes of calls that may take an operand with other dims merged."""


def _merge(program: Program, failure: Failure, at: int, method: str) -> Iterator[Fix]:
    """Append a method to an operand of a failing call."""
    op = program.trace.ops[failure.op]
    places = find_tensor_expressions(program, op)
    text_and_node = program.node(op.span)
    place = places[at] if at < len(places) else None
    if text_and_node is not None and place is not None:
        yield append_method(text_and_node[0], place[0], method)
