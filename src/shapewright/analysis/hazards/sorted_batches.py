"""Find batches that are sorted by length for an RNN and never put back in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PAIRED_ROWS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

SORTS = operators_with("sorts_elements")
INDEXES = operators_with("reads_by_index")
SCATTERS = operators_with("adds_by_index", "writes_by_index")
PACKING = "_pack_padded_sequence"
FARTHEST = 256


def find_sorted_batches(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of rows in the order of their lengths with targets as they came."""
    seen: set[object] = set()
    for loss in scene.calls:
        if loss.name not in ALL_LOSSES or len(loss.op.inputs) < 2:
            continue
        prediction, target = loss.op.inputs[:2]
        if not prediction.requires_grad or not target.shape or not prediction.shape:
            continue
        calls = find_ancestors(scene, prediction, FARTHEST)
        packs = [call for call in calls.values() if call.name == PACKING]
        if len({call.op.index for call in packs}) != 1:
            continue
        index, sort = _find_sorting(scene, packs[0])
        if index is None or sort is None or index.op.span in seen:
            continue
        rows = index.op.inputs[0].shape[:1]
        if prediction.shape[0] % rows[0] or target.shape[0] % rows[0] or rows[0] < 2:
            continue
        later = [c for c in calls.values() if c.op.index > packs[0].op.index]
        if any(_has_order(scene, call, sort) for call in later):
            continue
        if sort.op.index in _list_indices(scene, target):
            continue
        seen.add(index.op.span)
        names = scene.words(loss.op)
        message = (
            f"{scene.words(index.op)[0]} is put in the order of its lengths, and the"
            f" predictions stay in it: {names[0]} and {names[1]} are rows of different"
            " samples"
        )
        yield scene.finding(
            PAIRED_ROWS,
            index.op,
            message,
            (sort.op, "the order is made here"),
            (loss.op, "the rows meet here"),
        )


def find_sorted_pairs(scene: HazardContext) -> Iterator[Finding]:
    """Find rows in the order of their lengths that meet those of another encoder as
    they came: `images @ captions.t()`.
    """
    seen: set[object] = set()
    for pack in scene.calls:
        if pack.name != PACKING:
            continue
        index, sort = _find_sorting(scene, pack)
        if index is None or sort is None or index.op.span in seen:
            continue
        pair = _find_meeting(scene, pack, sort, index.op.inputs[0].shape[0])
        if pair is None:
            continue
        meeting, other = pair
        seen.add(index.op.span)
        message = (
            f"{scene.words(index.op)[0]} is put in the order of its lengths and stays"
            f" in it, and {other} does not: their rows are different samples"
        )
        yield scene.finding(
            PAIRED_ROWS,
            index.op,
            message,
            (sort.op, "the order is made here"),
            (meeting.op, "the rows meet here"),
        )


def _find_meeting(
    scene: HazardContext, pack: OperatorCall, sort: OperatorCall, rows: int
) -> tuple[OperatorCall, str] | None:
    """Return the call in which rows in a sorted order meet a model's other rows, and
    the name of the others; None if there is none.
    """
    waiting, met = [fact.tensor for fact in pack.op.outputs], set[int]()
    follows = set(waiting)
    while waiting and len(met) < FARTHEST:
        for user in scene.users.get(waiting.pop(0), ()):
            if user.op.index in met or user.op.index < pack.op.index:
                continue
            met.add(user.op.index)
            if _has_order(scene, user, sort):
                continue
            if user.name in PAIRING and len(user.op.inputs) == 2:
                for at, other in enumerate(user.op.inputs):
                    if other.tensor in follows or not other.requires_grad:
                        continue
                    is_paired = rows > 1 and rows in other.shape[:1] + other.shape[-1:]
                    if is_paired and _is_in_order(scene, other, pack, sort):
                        return user, scene.words(user.op)[at]
            for fact in user.op.outputs:
                if fact.tensor not in follows:
                    follows.add(fact.tensor)
                    waiting.append(fact.tensor)
    return None


def _is_in_order(
    scene: HazardContext, fact: Fact, pack: OperatorCall, sort: OperatorCall
) -> bool:
    """Return whether a tensor follows from a batch of a loader, and from no sort."""
    calls = find_ancestors(scene, fact, FARTHEST)
    if {pack.op.index, sort.op.index} & {call.op.index for call in calls.values()}:
        return False
    facts = [fact, *(f for call in calls.values() for f in call.op.inputs)]
    return any(f.tensor in scene.program.batches for f in facts)


PAIRING = operators_with("is_product", "subtracts") | {"*", "mul", "cosine_similarity"}
"""Calls in which the rows of two tensors meet."""


def _find_sorting(
    scene: HazardContext, pack: OperatorCall
) -> tuple[OperatorCall | None, OperatorCall | None]:
    """Return the index that sorted what is packed, and the sort that made its order."""
    for call in find_ancestors(scene, pack.op.inputs[0], 24).values():
        place = scene.program.node(call.op.span)
        if call.name not in INDEXES or len(call.op.inputs) != 2 or place is None:
            continue
        order = call.op.inputs[1]
        if order.ndim != 1 or call.op.inputs[0].shape[:1] != order.shape:
            continue
        if not isinstance(place[1], ast.Subscript) and call.name == "[]":
            continue
        maker = scene.maker(order)
        if maker is None or maker.name not in SORTS or maker.op.span == pack.op.span:
            continue
        return call, maker
    return None, None


def _has_order(scene: HazardContext, call: OperatorCall, sort: OperatorCall) -> bool:
    """Return whether a call takes rows by an index that follows from a sort."""
    along = call.given(1, "dim")
    if isinstance(along, int) and along % max(call.op.inputs[0].ndim, 1):
        return False  # within each row, such as the last step
    return call.name in INDEXES | SCATTERS and any(
        fact.dtype.startswith("int") and sort.op.index in _list_indices(scene, fact)
        for fact in call.op.inputs[1:]
    )


def _list_indices(scene: HazardContext, fact: Fact) -> set[int]:
    """Return the calls from which a tensor follows, by their place in the run."""
    return {call.op.index for call in find_ancestors(scene, fact, 24).values()}
