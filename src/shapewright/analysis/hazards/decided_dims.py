"""Find classes that are decided along another dim than their softmax ran along."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import (
    LINEAR,
    PASSING,
    find_value_maker,
)
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

SOFTMAXES = frozenset({"softmax", "log_softmax"})
FARTHEST = 4
"""Calls between a softmax and the choice."""


def _find_other_dims_of_scores(scene: HazardContext) -> Iterator[Finding]:
    """Find `argmax(1)` of scores that a layer has in the last dim of three, whose loss
    reads them there.
    """
    classes = {
        maker.op.module: call.op.inputs[0].shape[-1]
        for call in scene.calls
        if call.name in CLASS_LOSSES and call.op.inputs and call.op.inputs[0].ndim == 2
        if (maker := find_value_maker(scene, call.op.inputs[0])) is not None
        if maker.name in LINEAR and maker.op.outputs[0].ndim == len("BTV")
    }
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in CHOICES or call.op.span in seen or not call.op.inputs:
            continue
        fact = call.op.inputs[0]
        maker = find_value_maker(scene, fact)
        gone = find_reduced_dims(call)
        if maker is None or fact.ndim != len("BTV") or gone is None or len(gone) != 1:
            continue
        at, size = gone[0] % fact.ndim, classes.get(maker.op.module)
        if at == 1 and size == fact.shape[-1] != fact.shape[1]:
            seen.add(call.op.span)
            yield scene.finding(
                WRONG_AXIS,
                call.op,
                f"the class is chosen along dim 1 of {format_shape(fact)}, its"
                f" {fact.shape[1]} steps: the scores of the {size} classes are in dim"
                " 2, where the loss reads them",
                (maker.op, "the scores are made here"),
            )


CLASS_LOSSES = operators_with("takes_class_indices")
CHOICES = frozenset({"argmax", "max"})


def find_decided_dims(scene: HazardContext) -> Iterator[Finding]:
    """Find `argmax(1)` of `softmax(scores, dim=-1)` of several dims, such as (samples,
    classes, steps): the probabilities are of another dim.
    """
    yield from _find_other_dims_of_scores(scene)
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
