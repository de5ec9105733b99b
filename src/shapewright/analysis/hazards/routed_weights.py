"""Softmax in the routing of capsules: its weights say to which capsule each input goes,
so they sum to one over the outputs, and the inputs are summed.
"""

from __future__ import annotations

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.record.ops import Fact

ADDING = frozenset({"+", "+=", "add", "add_"})
MOST_CALLS = 60
"""Calls between weights and what is added to their logits."""


def is_routed(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether something is added to the logits of a softmax that was computed
    with its own weights, as the agreement of inputs and outputs is, in any turn of the
    loop around it.
    """
    turns = [
        other
        for other in scene.calls
        if other.name == call.name and other.op.span == call.op.span
    ]
    return any(_is_updated(scene, turn) for turn in turns)


def _is_updated(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the logits of a softmax get an addend that follows from it."""
    logits = call.op.inputs[0]
    for other in scene.calls:
        if other.op.index <= call.op.index or other.name not in ADDING:
            continue
        if len(other.op.inputs) != 2:
            continue
        for fact, addend in (other.op.inputs, other.op.inputs[::-1]):
            if fact.storage == logits.storage and _is_computed_with(
                scene, addend, call
            ):
                return True
    return False


def _is_computed_with(scene: HazardContext, fact: Fact, call: OperatorCall) -> bool:
    """Return whether a tensor was computed with what a call returned."""
    waiting, seen = [fact], {fact.tensor}
    for _ in range(MOST_CALLS):
        maker = scene.maker(waiting.pop()) if waiting else None
        if maker is not None and maker.op.index == call.op.index:
            return True
        if maker is not None and maker.op.index > call.op.index:
            parts = [part for part in maker.op.inputs if part.tensor not in seen]
            waiting += parts
            seen |= {part.tensor for part in parts}
        if not waiting:
            return False
    return False
