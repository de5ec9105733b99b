"""The dims of an operand in another order: transposed, permuted, or as they were."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from shapewright.analysis.fixes.operands import append_method, with_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    is_namespace,
)
from shapewright.findings.codes import (
    DOES_NOT_DIVIDE,
    ELEMENT_COUNT_MISMATCH,
    MISSING_TRANSPOSE,
    SHUFFLED_SIZES,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure, Repair
from shapewright.program.source_text import join_lines
from shapewright.record.ops import Fact

TURNING = operators_with("transposes_dims") | {"permute"}


def fix_order(program: Program, failure: Failure, sure: bool) -> Iterator[Fix]:
    """Reorder the dims of an operand. With `sure`, yield only the likely orders,
    otherwise only the others.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op) is not None
    orders = [repair for repair in failure.repairs if repair.kind == "permute"]
    if any(_is_single_move(repair.new) for repair in orders):
        orders = [repair for repair in orders if _is_single_move(repair.new)]
    for repair in orders:
        if layer and not sure:
            return  # a layer's input begins with the batch
        equal = _is_equal_after(op.inputs, repair)
        unmet = failure.unmet
        vague = unmet is not None and unmet.code in VAGUE
        turned = unmet is not None and unmet.code == MISSING_TRANSPOSE
        if ((_is_batch_kept(repair) or equal or turned) and not vague) == sure:
            order = repair.new
            moved = [at for at, dim in enumerate(order) if at != dim]
            if len(moved) == 2:
                method = f".transpose({moved[0]}, {moved[1]})"
            else:
                method = f".permute({', '.join(map(str, order))})"
            yield from _drop_order(program, op.inputs[repair.tensor], order)
            yield from with_method(program, failure, repair.tensor, method)


def _drop_order(program: Program, fact: Fact, order: Sequence[int]) -> Iterator[Fix]:
    """Yield a tensor without its `transpose` or `permute`, where another order of the
    dims would only take it back.
    """
    maker = program.producers.get(fact.tensor)
    text_and_call = program.call_at(maker.span) if maker is not None else None
    if maker is None or text_and_call is None or not maker.inputs:
        return
    text, call = text_and_call
    name = maker.name.rpartition(".")[2]
    is_method = isinstance(call.func, ast.Attribute) and not is_namespace(call.func)
    if name not in TURNING or not is_method:
        return
    back = tuple(fact.shape[dim] for dim in order)
    if back != maker.inputs[0].shape or not isinstance(call.func, ast.Attribute):
        return
    owner = text.span(call.func.value)
    tail = owner.end.until(text.span(call))
    message = f"`{join_lines(text.at(owner))}` without `{join_lines(text.at(tail))}`"
    yield Fix("fits", message, (Edit(tail, ""),))


def _is_single_move(order: Sequence[int]) -> bool:
    """Return whether a single dim is moved, and the others stay in their order: images
    that have their channels last keep height before width.
    """
    return any(
        all(a < b for a, b in pairwise(dim for dim in order if dim != moved))
        for moved in order
    )


VAGUE = frozenset({SHUFFLED_SIZES, ELEMENT_COUNT_MISMATCH, DOES_NOT_DIVIDE})
"""Codes where that another order fits says little."""


def _is_equal_after(inputs: tuple[Fact, ...], repair: Repair) -> bool:
    """Return whether the reordered dims equal those of another operand."""
    shape = tuple(inputs[repair.tensor].shape[d] for d in repair.new)
    others = (fact.shape for n, fact in enumerate(inputs) if n != repair.tensor)
    return len(set(shape)) > 1 and any(shape == other for other in others)


def _is_batch_kept(repair: Repair) -> bool:
    """Return whether the first dim stays in place: only dims of an image or a sequence
    are swapped.
    """
    order = repair.new
    return len(order) > 2 and order[0] == 0


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
