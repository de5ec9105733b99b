"""The call that computed the elements of a tensor."""

from __future__ import annotations

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.operators.facts import operators_with
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
