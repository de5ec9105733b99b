"""Dims that are to be merged before a call: `boxes.flatten(1, 2)`, of which a mask
chooses, or which meets what is flat already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import prod

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import BROADCAST_MISMATCH, MASK_SHAPE, TARGET_SHAPE
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure

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


def _merge(program: Program, failure: Failure, at: int, method: str) -> Iterator[Fix]:
    """Append a method to an operand of a failing call."""
    op = program.trace.ops[failure.op]
    places = find_tensor_expressions(program, op)
    text_and_node = program.node(op.span)
    place = places[at] if at < len(places) else None
    if text_and_node is not None and place is not None:
        yield append_method(text_and_node[0], place[0], method)
