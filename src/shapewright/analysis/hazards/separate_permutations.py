"""Find inputs and targets that are shuffled by two different permutations."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import SEPARATE_PERMUTATIONS, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

MOST = 1_000
"""Calls before a loss that are looked at."""


@looks_for(SEPARATE_PERMUTATIONS)
def find_separate_permutations(scene: HazardContext) -> Iterator[Finding]:
    """Find losses whose targets were put in another random order than their inputs."""
    if not any(call.name == "randperm" for call in scene.calls):
        return
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in ALL_LOSSES or len(call.op.inputs) < 2:
            continue
        prediction, target = call.op.inputs[:2]
        if call.op.span in seen or target.requires_grad or not prediction.requires_grad:
            continue
        seen.add(call.op.span)
        of_target = _find_orders(scene, target)
        of_inputs = _find_orders(scene, prediction) if of_target else {}
        if not of_inputs or of_target.keys() & of_inputs.keys():
            continue
        own, other = next(iter(of_target.values())), next(iter(of_inputs.values()))
        if own.op.span is None or own.op.span in seen or _count(own) != _count(other):
            continue
        seen.add(own.op.span)
        names = scene.words(other.op)[0], scene.words(own.op)[0]
        message = (
            f"{names[0]} and {names[1]} are shuffled by two different permutations: the"
            " rows of one no longer belong to the rows of the other"
        )
        yield scene.finding(
            SEPARATE_PERMUTATIONS,
            own.op,
            message,
            (other.op, f"{names[0]} is shuffled here"),
            (call.op, "the loss takes their rows together"),
        )


def _count(call: OperatorCall) -> int:
    """Return the number of rows of what a call puts in another order."""
    return call.op.inputs[0].shape[0]


def _find_orders(scene: HazardContext, fact: Fact) -> dict[int, OperatorCall]:
    """Return the calls that put all rows of the data of a tensor in a random order, by
    the permutation's tensor.
    """
    orders: dict[int, OperatorCall] = {}
    for call in find_ancestors(scene, fact, MOST).values():
        rows = _find_permutation(scene, call)
        if rows is not None:
            orders.setdefault(rows, call)
    return orders


def _find_permutation(scene: HazardContext, call: OperatorCall) -> int | None:
    """Return the tensor of the permutation by which a call chooses rows, or None."""
    if len(call.op.inputs) != 2 or not call.op.inputs[0].shape:
        return None
    if call.op.inputs[0].requires_grad:
        return None
    if call.name == "[]":
        items = get_items(call)
        if items is not None and items[:1] != ("tensor",):
            return None
    elif call.name != "index_select" or call.given(1, "dim") != 0:
        return None
    base = find_base(scene, call.op.inputs[1], {"[]"})
    maker = scene.maker(base)
    if maker is None or maker.name != "randperm":
        return None
    return base.tensor if base.shape == call.op.inputs[0].shape[:1] else None
