"""Find limits of probabilities that are 1 in the numbers of their tensor:
`p.clamp(max=1 - 1e-12)` in float32 keeps 1, and the logarithm of `1 - p` is infinite.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import ACTIVATIONS, find_value_maker
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOG_OF_ZERO
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

CLAMPS = operators_with("clamps")
LOGARITHMS = operators_with("is_logarithm")
HALF_STEPS = {"float32": 2.0**-25, "float16": 2.0**-12, "bfloat16": 2.0**-9}
"""Half of the distance from 1 to the next smaller number, by dtype."""
DIFFERENCES = operators_with("subtracts")


def find_lost_limits(scene: HazardContext) -> Iterator[Finding]:
    """Find limits beside 1 that round to 1, before a logarithm of `1 - p`."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in LOGARITHMS or not call.op.inputs:
            continue
        half = HALF_STEPS.get(call.op.inputs[0].dtype)
        rest = find_value_maker(scene, call.op.inputs[0])
        if half is None or rest is None or not is_rest(rest):
            continue
        whole = rest.given(1, "other")
        limit = find_value_maker(scene, rest.op.inputs[0])
        if limit is None or whole is None:
            continue
        number, place = None, limit
        if whole == 1 and limit.name in CLAMPS:
            number = _get_upper(limit)
        elif (
            ACTIVATIONS.get(limit.name) == "probabilities" and 0 < whole - 1 <= 2 * half
        ):
            number, place = whole, rest
        if not isinstance(number, float) or not 0 < abs(1 - number) <= 2 * half:
            continue
        if (number < 1 and 1 - number > half) or place.op.span in seen:
            continue
        seen.add(place.op.span)
        dtype = call.op.inputs[0].dtype
        message = (
            f"{number!r} is 1 in {dtype}, whose next number below 1 is 1 -"
            f" {2 * half:.0e}: a probability of 1 stays 1, and the logarithm of"
            " `1 - p` is minus infinity"
        )
        where = (call.op, "the logarithm is taken here")
        yield scene.finding(LOG_OF_ZERO, place.op, message, where)


def is_rest(call: OperatorCall) -> bool:
    """Return whether a call is a number minus a tensor."""
    is_reversed = call.op.function.endswith(("__rsub__", "rsub")) or call.name == "rsub"
    number = call.given(1, "other")
    return is_reversed and isinstance(number, int | float) and len(call.op.inputs) == 1


def _get_upper(call: OperatorCall) -> object:
    """Return the largest number that a limit leaves."""
    if call.name.startswith("clamp_max"):
        return call.given(1, "max")
    return call.given(2, "max")
