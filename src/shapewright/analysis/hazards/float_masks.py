"""Find masks of the numbers 0 and 1 that attention adds to its scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.hazards.causal_masks import (
    INVERTING,
    SUMS,
    TRIANGLES,
    find_softmax,
    find_true_side,
    is_ones,
    is_range,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import REARRANGING
from shapewright.analysis.hazards.mask_fills import is_product
from shapewright.analysis.hazards.number_masks import find_number_masks
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import FLOAT_MASK, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

VIEWS = operators_with("keeps_mask") | REARRANGING | {"[]", "to", "pad"}
VIEWS -= {"logical_or"}
"""Calls whose result has the same numbers, perhaps in another dtype."""
CASTS = frozenset({"float", "type_as"})
ADDED = "added to the scores here"
HIDDEN = "a mask of truths is true here where a key is hidden"
PADDED = "a padding mask of truths is true here where a key is hidden"
SEEN = "a mask of truths is true here where a key is seen"


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers 0 and 1 that were truths: which call made numbers of them, and whether 1
    stands where a key is hidden; None if that is not known.
    """

    op: Op
    hides: bool | None


@looks_for(FLOAT_MASK)
def find_float_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of numbers where masks of truths, or large numbers, are meant."""
    yield from find_number_masks(scene)
    seen: set[object] = set()
    for call in scene.calls:
        for fact, rule in _iter_masks(scene, call):
            numbers = _find_numbers(scene, fact)
            if numbers is None or (call.op.span, numbers.op.span) in seen:
                continue
            if rule == ADDED and numbers.hides is None:
                continue
            seen.add((call.op.span, numbers.op.span))
            where = {True: " where a key is to be hidden,", None: ""}.get(
                numbers.hides, " where a key is to be seen,"
            )
            noun = "padding mask" if rule == PADDED else "mask"
            message = (
                f"the {noun} {format_shape(fact)} holds the number 1{where} and 0"
                " elsewhere: it is added to the scores, and every key stays visible"
            )
            yield scene.finding(
                FLOAT_MASK,
                call.op,
                message,
                (numbers.op, "its numbers are made here"),
                (call.op, rule),
            )


def _iter_masks(scene: HazardContext, call: OperatorCall) -> Iterator[tuple[Fact, str]]:
    """Yield the masks of numbers that a call adds to scores, and what one of truths
    would mean there.
    """
    op = call.op
    if op.span is None:
        return
    if call.name == "multi_head_attention_forward":
        for place, fact in zip(op.places, op.inputs, strict=False):
            if place in ("attn_mask", "key_padding_mask") and fact.dtype != "bool":
                yield fact, HIDDEN if place == "attn_mask" else PADDED
    elif call.name == "scaled_dot_product_attention" and len(op.inputs) > 3:
        if op.inputs[3].dtype != "bool":
            yield op.inputs[3], SEEN
    elif call.name in SUMS and len(op.inputs) == 2:
        for fact, other in (op.inputs, op.inputs[::-1]):
            if (
                fact.ndim >= 2
                and not fact.requires_grad
                and is_product(scene, other)
                and find_softmax(scene, op.outputs[0]) is not None
            ):
                yield fact, ADDED


def _find_numbers(scene: HazardContext, fact: Fact) -> _Numbers | None:
    """Return how a tensor of 0 and 1 was made, or None for other tensors."""
    op: Op | None = None
    is_inverted = False
    for _ in range(12):
        call = scene.maker(fact)
        if fact.dtype == "bool":
            maker = op or (call.op if call is not None else None)
            hides = _find_hidden_side(scene, fact)
            break
        if call is None:
            return None
        if not call.op.inputs:
            written = _find_written_side(scene, call, fact)
            if written is None:
                return None
            maker, hides = op or call.op, written
            break
        first = call.op.inputs[0]
        if call.name in TRIANGLES:
            if not is_ones(scene, first):
                return None
            maker, hides = op or call.op, find_true_side(scene, fact) == "future"
            break
        if call.name in ("-", "rsub") and _is_rest_of_one(scene, call.op):
            op, is_inverted = op or call.op, not is_inverted
        elif call.name not in VIEWS:
            return None
        elif call.name in CASTS or first.dtype != fact.dtype:
            op = op or call.op
        fact = first
    else:
        return None
    if maker is None:
        return None
    numbers = _Numbers(maker, hides)
    if hides is not None and is_inverted:
        numbers = replace(numbers, hides=not hides)
    return numbers


def _find_written_side(
    scene: HazardContext, call: OperatorCall, fact: Fact
) -> bool | None:
    """Return whether 1 is written where a key is hidden, behind the end of a sequence,
    into zeros, or 0 in front of it into ones; None if anything else is done.
    """
    value = FILLED.get(call.name)
    writes = [
        other
        for other in scene.calls
        if other.name in WRITES and other.op.inputs[0].storage == fact.storage
    ]
    sides = {_read_write(scene, write, value) for write in writes}
    return sides.pop() if value is not None and len(sides) == 1 else None


FILLED = {"zeros": 0, "ones": 1}
WRITES = ("[]=", "__setitem__")


def _read_write(
    scene: HazardContext, write: OperatorCall, value: int | None
) -> bool | None:
    """Return whether what is written behind a position, `mask[i, n:] = 1`, hides keys
    there; None for other writes.
    """
    place = scene.program.node(write.op.span)
    node = place[1] if place is not None else None
    statement = place[0].statement_of(node) if place and node is not None else None
    if not isinstance(statement, ast.Assign) or len(write.op.inputs) != 1:
        return None
    target, new = statement.targets[0], statement.value
    if not isinstance(target, ast.Subscript) or not isinstance(new, ast.Constant):
        return None
    if value is None or new.value != 1 - value:
        return None
    last = target.slice.elts[-1] if isinstance(target.slice, ast.Tuple) else None
    if not isinstance(last, ast.Slice) or (last.lower is None) is (last.upper is None):
        return None
    return (last.upper is None) is (new.value == 1)


def _is_rest_of_one(scene: HazardContext, op: Op) -> bool:
    """Return whether a call is written `1 - mask`; the recorded one may be `mask - 1`
    as well.
    """
    place = scene.program.node(op.span)
    node = place[1] if place is not None else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return isinstance(node.left, ast.Constant) and node.left.value == 1


def _find_hidden_side(scene: HazardContext, fact: Fact) -> bool | None:
    """Return whether truths stand where a key is hidden: behind the query, or at
    padding; None if that is not known.
    """
    side = find_true_side(scene, fact)
    if side is not None:
        return side == "future"
    is_inverted = False
    for _ in range(8):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        hides: bool | None = None
        if call.name in INVERTING:
            is_inverted = not is_inverted
        elif len(call.op.inputs) == 1 and call.name in ("==", "eq", "!=", "ne"):
            if not call.op.inputs[0].dtype.startswith("int"):
                return None
            hides = call.name in ("==", "eq")
        elif len(call.op.inputs) == 2 and call.name in ("<", "<=", ">", ">="):
            ranges = [is_range(scene, other) for other in call.op.inputs]
            if ranges[0] == ranges[1]:
                return None
            hides = (call.name[0] == ">") == ranges[0]
        elif call.name not in VIEWS:
            return None
        if hides is not None:
            return hides != is_inverted
        fact = call.op.inputs[0]
    return None
