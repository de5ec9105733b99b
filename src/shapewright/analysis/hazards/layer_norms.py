"""Find layer norms that a program writes itself and that normalize along another dim
than that of their weights: `z.mean(1)` of (batch, steps, features); batch norms whose
channels are the time steps of a recurrent layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import RECURRENT, HazardContext
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.spans import is_installed
from shapewright.record.ops import ModuleCall

NAMES = re.compile(r"(layer|rms)_?norm", re.IGNORECASE)
STATISTICS = operators_with("measures_spread") | {"mean"}


def find_layer_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find the mean and the deviation of a layer norm that leave out the dim of its
    weights.
    """
    seen: set[object] = set()
    by_index = {call.op.index: call for call in scene.calls}
    for module in scene.program.trace.calls:
        if not NAMES.search(module.class_name) or not module.states:
            continue
        calls = [by_index[at] for at in range(*module.ops) if at in by_index]
        weight = _find_weight(module, calls)
        for call in calls if weight is not None else ():
            gone = find_reduced_dims(call) if call.name in STATISTICS else None
            span, rank = call.op.span, call.op.inputs[0].ndim if call.op.inputs else 0
            if gone is None or span is None or span in seen or is_installed(span.file):
                continue
            if rank < 3 or rank - 1 in gone or len(gone) != 1 or 0 in gone:
                continue
            if call.op.inputs[0].shape[-1] != weight:
                continue
            seen.add(span)
            message = (
                f"{scene.operation(call.op)} of {format_shape(call.op.inputs[0])} runs"
                f" along dim {gone[0]}, and the weight of `{module.class_name}` lies"
                f" along dim {rank - 1}: a layer norm takes the mean and the deviation"
                f" of the features of each position, along dim {rank - 1}"
            )
            yield scene.finding(WRONG_AXIS, call.op, message)


def find_step_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find batch norms of (samples, steps, features), which take the steps for channels
    that the recurrent layer or the attention behind them takes for time.
    """
    seen: set[object] = {None}
    readers = {
        claim.call.op.index: claim.call
        for claim in scene.claims
        if claim.role == "batch" and claim.dim == 0 and claim.call.name in SEQUENCES
    }
    for call in scene.calls:
        fact = call.op.inputs[0] if call.op.inputs else None
        if call.name != "batch_norm" or fact is None or fact.ndim != 3:
            continue
        reader = _find_reader(scene, call, readers)
        if reader is None or call.op.span in seen or fact.shape[1] < 2:
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.operation(call.op)} of {format_shape(fact)} normalizes dim 1, its"
            f" channels, which are the {fact.shape[1]} time steps of"
            f" {scene.operation(reader.op)}: the {fact.shape[2]} features of a step"
            " share one mean; as channels they stand in dim 1"
        )
        why = "it takes dim 1 for time"
        yield scene.finding(WRONG_AXIS, call.op, message, (reader.op, why))


def _find_reader(
    scene: HazardContext, norm: OperatorCall, readers: dict[int, OperatorCall]
) -> OperatorCall | None:
    """Return the layer of steps that gets what a norm returned, its dims not turned."""
    fact = norm.op.outputs[0]
    for _ in range(STEPS_AWAY):
        users = scene.users.get(fact.tensor, [])
        for user in users:
            if user.op.index in readers and user.op.inputs[0].tensor == fact.tensor:
                return user
        if len(users) != 1 or not users[0].op.outputs:
            return None
        result = users[0].op.outputs[0]
        if users[0].op.kind == "view" or result.shape != fact.shape:
            return None
        fact = result
    return None


SEQUENCES = RECURRENT | {"multi_head_attention_forward"}
"""Calls that take a dim of their input for time."""
STEPS_AWAY = 3
"""Calls between a norm and the layer that reads its result: dropout, an activation."""


def _find_weight(module: ModuleCall, calls: list[OperatorCall]) -> int | None:
    """Return the size of the weights by which a module multiplies the last dim of what
    it was given; None if it does not.
    """
    own = {state.fact.tensor for state in module.states}
    for call in calls:
        if call.name not in ("*", "mul", "addcmul") or len(call.op.inputs) < 2:
            continue
        weights = [fact for fact in call.op.inputs if fact.tensor in own]
        if len(weights) == 1 and weights[0].ndim == 1 and call.op.outputs[0].ndim > 2:
            return weights[0].shape[0]
    return None
