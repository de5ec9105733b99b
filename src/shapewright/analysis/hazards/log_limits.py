"""Find limits that belong before a logarithm and stand behind it: `log(x).clamp(1e-5)`
sets everything below 1 to one number.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import (
    FARTHEST,
    PASSING,
    find_value_maker,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LIMIT_AFTER_LOG, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

LOGARITHMS = operators_with("is_logarithm")
LIMITS = operators_with("limits_from_below")
QUOTIENTS = operators_with("divides_elements")
CONVERTING = frozenset({"to", "float", "double", "half", "type", "type_as"})
MOST = 1e-3
"""The largest limit that is taken for one of the operand."""
LEAST_OF_COUNTS = 1
"""Numbers whose logarithm is not negative."""


@looks_for(LIMIT_AFTER_LOG)
def find_limits_of_logarithms(scene: HazardContext) -> Iterator[Finding]:
    """Find tiny positive limits below the values of a logarithm."""
    seen: set[object] = set()
    for call in scene.calls:
        limit = call.given(1, "min")
        if call.name not in LIMITS or not isinstance(limit, float):
            continue
        if not 0 < limit <= MOST or not call.op.inputs or call.op.span in seen:
            continue
        maker = find_value_maker(scene, call.op.inputs[0])
        if maker is None or maker.name not in LOGARITHMS:
            continue
        if _has_large_operand(scene, maker.op.inputs[0]) or _is_divisor(scene, call):
            continue
        seen.add(call.op.span)
        yield scene.finding(
            LIMIT_AFTER_LOG,
            call.op,
            f"each logarithm below {limit:g} becomes {limit:g}, that is, all of what"
            " was less than 1 before it: a limit this small is one of the operand",
            (maker.op, "the logarithm is taken here"),
        )


def _has_large_operand(scene: HazardContext, fact: Fact) -> bool:
    """Return whether the operand of a logarithm is a count, a ratio, or a number that
    was made at least 1.
    """
    for _ in range(FARTHEST):
        if not fact.dtype.startswith(("float", "bfloat")):
            return True
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return False
        if maker.name in QUOTIENTS:
            return len(maker.op.inputs) > 1 and maker.op.inputs[1].shape != ()
        if maker.name in LIMITS:
            limit = maker.given(1, "min")
            return isinstance(limit, int | float) and limit >= LEAST_OF_COUNTS
        if maker.name in ("add", "+", "__add__", "__radd__"):
            number = maker.given(1, "other")
            return isinstance(number, int | float) and number >= LEAST_OF_COUNTS
        if maker.name not in PASSING | CONVERTING:
            return False
        fact = maker.op.inputs[0]
    return False


def _is_divisor(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether something is divided by what a call returns: the limit keeps it
    from a division by zero.
    """
    users = [
        (user, fact.tensor)
        for fact in call.op.outputs
        for user in scene.users.get(fact.tensor, ())
    ]
    return any(
        user.name == "reciprocal"
        or user.op.function.endswith(("__rdiv__", "__rtruediv__"))
        or (user.name in QUOTIENTS and user.op.inputs[0].tensor != tensor)
        for user, tensor in users
    )
