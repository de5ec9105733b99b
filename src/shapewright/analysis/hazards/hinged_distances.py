"""Find distances from a mean that run along the dim of the mean: `x - x.mean(dim=0)`,
then `norm(dim=0)`, with a margin taken off.

Without a margin such a norm is the spread of each feature, which is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.idle_hinges import LIMITS, RAMPS
from shapewright.analysis.hazards.length_sides import LENGTHS
from shapewright.analysis.hazards.loss_terms import DIFFERENCES, REARRANGING
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

STEPS = 4
"""Calls between a mean and the difference, and between a norm and a hinge."""


def find_hinged_distances(scene: HazardContext) -> Iterator[Finding]:
    """Find norms of the features' columns where a margin is for each row's distance."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in LENGTHS or not call.op.inputs or call.op.span in seen:
            continue
        fact = call.op.inputs[0]
        gone = find_reduced_dims(call)
        if fact.ndim != 2 or gone is None or len(gone) != 1 or fact.shape[1] < 2:
            continue
        along = gone[0] % fact.ndim
        mean = _find_mean(scene, fact, along)
        if mean is None or not _is_hinged(scene, call.op.outputs[0]):
            continue
        seen.add(call.op.span)
        kept = 1 - along
        message = (
            f"{scene.operation(call.op)} of {format_shape(fact)} runs along dim {along}"
            f", as the mean does that is taken off: {fact.shape[kept]} numbers come"
            f" of all rows, and each row's distance from the mean is along dim"
            f" {kept}"
        )
        yield scene.finding(WRONG_AXIS, call.op, message, (mean.op, "the mean"))


def _find_mean(scene: HazardContext, fact: Fact, along: int) -> OperatorCall | None:
    """Return the mean along a dim that is taken off a tensor's rows, or None."""
    difference = scene.maker(fact)
    if difference is None or difference.name not in DIFFERENCES:
        return None
    if len(difference.op.inputs) != 2:
        return None
    rows, centre = difference.op.inputs
    for _ in range(STEPS):
        call = scene.maker(centre)
        if call is None or not call.op.inputs:
            return None
        if call.name == "mean":
            is_own = call.op.inputs[0].tensor == rows.tensor
            return call if is_own and find_reduced_dims(call) == (along,) else None
        if call.name not in REARRANGING:
            return None
        centre = call.op.inputs[0]
    return None


def _is_hinged(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a number is taken off a tensor, and zero is the least of it."""
    for _ in range(STEPS):
        users = scene.users.get(fact.tensor, ())
        if any(user.name in RAMPS | LIMITS for user in users):
            return True
        margins = [u for u in users if u.name in DIFFERENCES and len(u.op.inputs) == 1]
        if not margins:
            return False
        fact = margins[0].op.outputs[0]
    return False
