"""Find similarities of which one side has unit length and the other is as its model
gave it: a bank of normalized features, and queries that are not.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.length_sides import LENGTHS, find_misplaced_lengths
from shapewright.analysis.hazards.value_makers import find_value_maker
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import ONE_SIDE_NORMALIZED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact, Op

MATRIX_PRODUCTS = operators_with("is_product")
QUOTIENTS = operators_with("divides_elements")
RANKED = values_of("ranks_along")
"""Calls that return positions, by where their dim is given."""


@looks_for(ONE_SIDE_NORMALIZED)
def find_one_sided_similarities(scene: HazardContext) -> Iterator[Finding]:
    """Find products of features of one layer of which one side alone is normalized, and
    those that the lengths of other rows divide.
    """
    yield from find_misplaced_lengths(scene)
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name not in MATRIX_PRODUCTS or len(op.inputs) != 2 or op.span in seen:
            continue
        makers = [find_value_maker(scene, fact) for fact in op.inputs]
        for raw, unit in ((0, 1), (1, 0)):
            source = _find_normalized(scene, makers[unit])
            other = makers[raw]
            if source is None or other is None or makers[unit] is None:
                continue
            before = find_value_maker(scene, source)
            if before is None or not _is_of_one_layer(before, other):
                continue
            if source.tensor in {fact.tensor for fact in other.op.outputs}:
                continue  # the length itself: a tensor times its own unit vector
            if raw == 0 and _is_ranked_alone(scene, op):
                continue  # the length of a row changes no order in it
            seen.add(op.span)
            words = scene.words(op)
            normalized = makers[unit]
            assert normalized is not None
            yield scene.finding(
                ONE_SIDE_NORMALIZED,
                op,
                f"{words[unit]} has unit length and {words[raw]} has not, though both"
                f" are what `{other.op.module}` gives: this is no cosine similarity,"
                " and grows with the length",
                (normalized.op, f"{words[unit]} is normalized here"),
            )


def _find_normalized(scene: HazardContext, maker: OperatorCall | None) -> Fact | None:
    """Return what a call normalizes to unit length, or None."""
    if maker is None or not maker.op.inputs:
        return None
    if maker.name == "normalize":
        return maker.op.inputs[0]
    if maker.name in QUOTIENTS and len(maker.op.inputs) == 2:
        length = find_value_maker(scene, maker.op.inputs[1])
        is_own = length is not None and length.name in LENGTHS
        if is_own and length is not None:
            same = length.op.inputs[0].tensor == maker.op.inputs[0].tensor
            return maker.op.inputs[0] if same else None
    return None


def _is_ranked_alone(scene: HazardContext, op: Op) -> bool:
    """Return whether nothing reads a product but the places of the largest elements of
    its rows.
    """
    users = scene.users.get(op.outputs[0].tensor, ())
    return bool(users) and all(_is_read_by_place(scene, user) for user in users)


def _is_read_by_place(scene: HazardContext, user: OperatorCall) -> bool:
    """Return whether a call finds places along the last dim, and no values are read."""
    if user.name not in RANKED:
        return False
    dim = user.given(RANKED[user.name], "dim", default=-1)
    values = user.op.outputs[0].tensor if len(user.op.outputs) > 1 else -1
    is_last = dim in (-1, user.op.inputs[0].ndim - 1)
    return is_last and not scene.users.get(values, ())


def _is_of_one_layer(first: OperatorCall, second: OperatorCall) -> bool:
    """Return whether two calls are those of one layer, for different inputs."""
    return (
        bool(first.op.module)
        and first.op.module == second.op.module
        and first.name == second.name
        and first.op.index != second.op.index
    )
