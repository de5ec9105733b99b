"""Find ratios of probabilities in clipped policy objectives that are none: differences
or quotients of log probabilities, the old one above the new one, and limits that are
not around 1.

`exp(new - old)` is 1 where a policy has not changed, and grows with the new one.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    DIFFERENCES,
    QUOTIENTS,
    find_base,
    get_call_name,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OPTIMISTIC_BOUND, REVERSED_POLICY
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

CLAMPS = operators_with("clamps")
LOGARITHMS = frozenset({"log_softmax", "log"})
PICKING = frozenset({"gather", "sum", "[]", "squeeze"})
"""Calls between the log probabilities of all actions and that of one."""
FARTHEST = 8


def find_limits_of_ratios(scene: HazardContext) -> Iterator[Finding]:
    """Find limits that leave the ratio of an unchanged policy, 1, outside, and limits
    around 1 of a difference, which is 0 there.
    """
    seen: set[object] = {None}
    for clamp, low, high in _iter_clamps(scene):
        maker = scene.maker(find_base(scene, clamp.op.inputs[0]))
        if maker is None:
            continue
        if maker.name == "exp" and low < 0 < high < 1:
            inner = scene.maker(find_base(scene, maker.op.inputs[0]))
            if inner is None or inner.name not in DIFFERENCES:
                continue
            if not _is_of_policies(scene, inner) or clamp.op.span in seen:
                continue
            seen.add(clamp.op.span)
            message = (
                f"the ratio of two policies is 1 where nothing has changed, and is"
                f" clipped to {low:g} and {high:g}: it is {high:g} nearly everywhere,"
                " with no gradient"
            )
            yield scene.finding(OPTIMISTIC_BOUND, clamp.op, message, (maker.op, "the"
                                " ratio is made here"))  # fmt: skip
        elif maker.name in DIFFERENCES and 0 < low < 1 < high:
            if not _is_of_policies(scene, maker) or maker.op.span in seen:
                continue
            seen.add(maker.op.span)
            message = (
                "a difference of log probabilities is clipped around 1 like a ratio:"
                " it is 0 where the policy has not changed, and `exp` of it is the"
                " ratio"
            )
            yield scene.finding(
                OPTIMISTIC_BOUND, maker.op, message, (clamp.op, "clipped here")
            )


def find_reversed_ratios(scene: HazardContext) -> Iterator[Finding]:
    """Find clipped ratios that fall as the probability of an action grows."""
    seen: set[object] = {None}
    for clamp, low, high in _iter_clamps(scene):
        if not 0 < low < 1 < high:
            continue
        maker = scene.maker(find_base(scene, clamp.op.inputs[0]))
        if maker is not None and maker.name == "exp":
            maker = scene.maker(find_base(scene, maker.op.inputs[0]))
            is_turned = maker is not None and maker.name in DIFFERENCES
            message = (
                "the old log probability stands before the new one: this ratio falls"
                " as an action becomes likelier, and a gain makes it less likely"
            )
        else:
            is_turned = maker is not None and maker.name in QUOTIENTS
            message = (
                "a quotient of log probabilities is no ratio of probabilities: it falls"
                " as an action becomes likelier, and `exp` of their difference is one"
            )
        if maker is None or not is_turned or maker.op.span in seen:
            continue
        at = 1 if maker.name in DIFFERENCES else 0
        if len(maker.op.inputs) != 2 or not _is_of_policies(scene, maker, at):
            continue
        seen.add(maker.op.span)
        yield scene.finding(
            REVERSED_POLICY, maker.op, message, (clamp.op, "the ratio is clipped here")
        )


def _iter_clamps(
    scene: HazardContext,
) -> Iterator[tuple[OperatorCall, float, float]]:
    """Yield each call that limits a tensor with a graph to two numbers, and those."""
    for call in scene.calls:
        if call.name not in CLAMPS or not call.op.inputs:
            continue
        low, high = call.given(1, "min"), call.given(2, "max")
        if not isinstance(low, int | float) or not isinstance(high, int | float):
            continue
        if call.op.inputs[0].requires_grad and len(call.op.inputs) == 1:
            yield call, low, high


def _is_of_policies(scene: HazardContext, call: OperatorCall, at: int = 0) -> bool:
    """Return whether of two operands one is the log probability of a trained policy,
    and the other a number of the same kind without a graph.
    """
    if len(call.op.inputs) != 2:
        return False
    new, old = call.op.inputs[at], call.op.inputs[1 - at]
    if not new.requires_grad or old.requires_grad or new.shape != old.shape:
        return False
    return _is_log_probability(scene, new)


def _is_log_probability(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is the logarithm of probabilities of actions."""
    for _ in range(FARTHEST):
        fact = find_base(scene, fact)
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return False
        if get_call_name(scene, call.op) == "log_prob" or call.name in LOGARITHMS:
            return True
        if call.name not in PICKING:
            return False
        fact = call.op.inputs[0]
    return False
