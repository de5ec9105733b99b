"""Find logarithms of what a softmax leaves of 1: it rounds to 1 where one score is far
above the others, and `log(1 - p)` is minus infinity.

The logarithm of the probability itself has far more room, 103 between two scores where
`1 - p` has 17: of that, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.exponential_sums import BOUNDED
from shapewright.analysis.hazards.lost_limits import HALF_STEPS, is_rest
from shapewright.analysis.hazards.value_makers import find_value_maker
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOG_OF_ZERO
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

LOGARITHMS = operators_with("is_logarithm")
REPLACING = operators_with("replaces_odd_values")
"""Calls that put other values in the place of infinity."""
SCALING = operators_with("divides_elements") | {"*", "mul", "neg", "-"}
"""Calls that scale bounded scores, by a temperature."""
LIMITED = BOUNDED | operators_with("clamps")
SOFTMAX = "softmax"
FARTHEST = 6


def find_rounded_probabilities(scene: HazardContext) -> Iterator[Finding]:
    """Find `torch.log(1 - softmax(scores))` that is trained, and not limited."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.op.span in seen or not call.op.inputs:
            continue
        rest = _find_rest(scene, call)
        softmax = find_value_maker(scene, rest.op.inputs[0]) if rest else None
        if rest is None or softmax is None or softmax.name != SOFTMAX:
            continue
        scores = softmax.op.inputs[0]
        half = HALF_STEPS.get(rest.op.inputs[0].dtype)
        if half is None or not scores.requires_grad:
            continue
        if _is_bounded(scene, scores) or _is_replaced(scene, call):
            continue
        seen.add(call.op.span)
        message = (
            f"the softmax is 1 in {scores.dtype} where a score is more than"
            f" {-log(half):.0f} above the others: `1 - p` is 0 there, and its logarithm"
            " minus infinity. The gradient is NaN, also where a mask leaves it out"
        )
        where = (softmax.op, "the softmax is taken here")
        yield scene.finding(LOG_OF_ZERO, call.op, message, where)


def _find_rest(scene: HazardContext, call: OperatorCall) -> OperatorCall | None:
    """Return the call `1 - p` of which a call is the logarithm, or None."""
    if call.name not in LOGARITHMS:
        return None
    rest = find_value_maker(scene, call.op.inputs[0])
    is_whole = rest is not None and is_rest(rest) and rest.given(1, "other") == 1
    return rest if is_whole else None


def _is_bounded(scene: HazardContext, scores: Fact) -> bool:
    """Return whether scores lie within limits, such as cosines over a temperature."""
    fact = scores
    for _ in range(FARTHEST):
        maker = find_value_maker(scene, fact)
        if maker is None:
            return False
        if maker.name in LIMITED:
            return True
        if maker.name not in SCALING or not maker.op.inputs:
            return False
        fact = maker.op.inputs[0]
    return False


def _is_replaced(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether other values are put in the place of infinite logarithms."""
    users = [
        user.name
        for fact in call.op.outputs
        for user in scene.users.get(fact.tensor, ())
    ]
    return bool(REPLACING & {*users})
