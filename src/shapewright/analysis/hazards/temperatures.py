"""Find probabilities that are divided by a temperature before something normalizes them
again: the temperature cancels. Scores are divided by it, before the softmax.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import QUOTIENTS
from shapewright.analysis.hazards.value_makers import PASSING, find_value_maker
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import TEMPERATURE_CANCELS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

NUMBERING = operators_with("finds_extremes", "sorts_elements") | {"topk"}
CHOOSING = PASSING | NUMBERING | {"masked_fill", "detach"}
"""Calls after which probabilities are still those, or the largest of them."""
FARTHEST = 12
"""Calls behind the division that are looked at."""


@looks_for(TEMPERATURE_CANCELS)
def find_cancelled_temperatures(scene: HazardContext) -> Iterator[Finding]:
    """Find probabilities divided by one number, which are normalized behind it."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in QUOTIENTS or call.op.span in seen:
            continue
        if not call.op.inputs or not _is_number(call) or _is_own_sum(scene, call):
            continue
        softmax = find_value_maker(scene, call.op.inputs[0])
        if softmax is None or softmax.name != "softmax":
            continue
        use = _find_normalizing(scene, call.op.outputs[0])
        if use is None:
            continue
        seen.add(call.op.span)
        message = (
            "probabilities are divided by one number, and what reads them normalizes"
            " them again: the number cancels, and has no effect as a temperature"
        )
        yield scene.finding(
            TEMPERATURE_CANCELS,
            call.op,
            message,
            (softmax.op, "as a temperature it divides the scores, before this"),
            (use.op, "they are normalized here"),
        )


def _is_number(call: OperatorCall) -> bool:
    """Return whether a call divides a tensor by one number."""
    if len(call.op.inputs) == 2:
        return call.op.inputs[1].numel == 1 and call.op.inputs[0].numel > 1
    number = call.given(1, "other")
    return isinstance(number, int | float) and "__r" not in call.op.function


def _is_own_sum(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a tensor is divided by its own sum, as `Categorical` does."""
    divisor = scene.maker(call.op.inputs[1]) if len(call.op.inputs) == 2 else None
    return (
        divisor is not None
        and divisor.name == "sum"
        and divisor.op.inputs[0].tensor == call.op.inputs[0].tensor
    )


def _find_normalizing(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that draws by these weights, or divides them by their sum."""
    waiting, met = [fact], 0
    while waiting and met < FARTHEST:
        fact = waiting.pop(0)
        for user in scene.users.get(fact.tensor, ()):
            met += 1
            if user.name == "multinomial":
                return user
            if user.name == "sum" and _is_divided_by_sum(scene, fact, user):
                return user
            if user.name in CHOOSING and user.op.outputs:
                waiting.append(user.op.outputs[0])
    return None


def _is_divided_by_sum(scene: HazardContext, fact: Fact, total: OperatorCall) -> bool:
    """Return whether a tensor is divided by its sum."""
    return any(
        user.name in QUOTIENTS
        and len(user.op.inputs) == 2
        and user.op.inputs[0].tensor == fact.tensor
        for user in scene.users.get(total.op.outputs[0].tensor, ())
    )
