"""Find classes that are decided along another dim than their softmax ran along."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding

SOFTMAXES = frozenset({"softmax", "log_softmax"})
FARTHEST = 4
"""Calls between a softmax and the choice."""


def find_decided_dims(scene: HazardContext) -> Iterator[Finding]:
    """Find `argmax(1)` of `softmax(scores, dim=-1)` of several dims, such as (samples,
    classes, steps): the probabilities are of another dim.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SOFTMAXES or call.op.span in seen:
            continue
        fact = call.op.outputs[0]
        along = find_softmax_dim(call)
        if along is None or fact.ndim < 3 or not scene.in_user_code(call.op):
            continue
        along %= fact.ndim
        for _ in range(FARTHEST):
            users = scene.users.get(fact.tensor, [])
            chosen = next((user for user in users if user.name == "argmax"), None)
            gone = find_reduced_dims(chosen) if chosen is not None else None
            if chosen is not None and gone is not None and len(gone) == 1:
                at = gone[0] % fact.ndim
                if at != along and fact.shape[at] > 1 < fact.shape[along]:
                    seen.add(call.op.span)
                    yield scene.finding(
                        WRONG_AXIS,
                        call.op,
                        f"{scene.operation(call.op)} of {format_shape(fact)} runs along"
                        f" dim {along}, and the class is chosen along dim {at}: the"
                        " probabilities are not those of the classes",
                        (chosen.op, "the class is chosen here"),
                    )
                break
            onward = [u for u in users if u.name in PASSING and u.op.outputs]
            if not onward or onward[0].op.outputs[0].shape != fact.shape:
                break
            fact = onward[0].op.outputs[0]
