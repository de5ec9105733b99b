"""The call that computed the elements of a tensor."""

from __future__ import annotations

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    PRODUCTS,
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact

PASSING = (
    operators_with("is_view", "regroups_dims", "copies_if_needed", "moves_dims")
    | operators_with("moves_device", "joins_tensors", "reads_by_index")
    | {"dropout", "pad"}
)
"""Calls after which an element is what it was."""
LINEAR = operators_with("is_convolution", "gives_logits")
FARTHEST = 8
"""Calls between an activation and the loss."""


def find_value_maker(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that computed the elements of a tensor."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name not in PASSING:
            return maker
        fact = maker.op.inputs[0]
    return None


ACTIVATIONS = values_of("gives_values")
"""What an activation returns: logits, probabilities or log-probabilities."""
ONE_HOT = frozenset({"one_hot", "eye"})


def find_mixed_probabilities(
    scene: HazardContext, call: OperatorCall
) -> OperatorCall | None:
    """Return the call that computed the probabilities of which a call returns a mean,
    or a sum for each class of one-hot labels: these are probabilities too.
    """
    if call.name not in PRODUCTS | {"mean"}:
        return None
    maker = find_value_maker(scene, call.op.inputs[0])
    if maker is None or ACTIVATIONS.get(maker.name) != "probabilities":
        return None
    last = len(maker.op.inputs[0].shape) - 1
    is_along_last = "softmax" in maker.name and find_softmax_dim(maker) == last
    if call.name in PRODUCTS:
        is_mixed = len(call.op.inputs) > 1 and _is_one_hot(scene, call.op.inputs[1])
        return maker if is_along_last and is_mixed else None
    gone = find_reduced_dims(call)
    is_kept = gone is not None and len(call.op.inputs[0].shape) - 1 not in gone
    return maker if is_along_last and is_kept else None


def _is_one_hot(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds rows of one-hot labels."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or maker.name in ONE_HOT:
            return maker is not None
        if maker.name not in PASSING or not maker.op.inputs:
            return False
        fact = maker.op.inputs[0]
    return False
