"""Find weights of samples along a ray whose product runs over the sample itself.

A sample's weight is its opacity times what the samples before it let through. A
cumulative product of `1 - alpha` includes the sample, so it must be shifted by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.analysis.hazards.value_makers import PASSING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import INCLUSIVE_TRANSMITTANCE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

JOINS = operators_with("joins_tensors")
LIMITS = operators_with("limits_elements", "clamps")
SUMS = frozenset({"+", "add"})
FARTHEST = 6
"""Calls between an opacity and the product."""


@looks_for(INCLUSIVE_TRANSMITTANCE)
def find_inclusive_products(scene: HazardContext) -> Iterator[Finding]:
    """Find opacities that are multiplied by a cumulative product that has them."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2:
            continue
        span = call.op.span
        if span is None or span in seen or call.op.inputs[0].ndim < 2:
            continue
        for at, product in enumerate(call.op.inputs):
            opacity = _follow(scene, call.op.inputs[1 - at])
            running = _find_running(scene, product, opacity)
            if running is None:
                continue
            seen.add(span)
            words = scene.words(call.op)
            yield scene.finding(
                INCLUSIVE_TRANSMITTANCE,
                running.op,
                f"this product includes the sample itself, and {words[1 - at]} is"
                " multiplied by it: what reaches a sample is the product over those"
                " before it, so that an opaque one gets a weight near 0",
                (call.op, "the same samples are weighted here"),
            )
            break


def _follow(scene: HazardContext, fact: Fact) -> Fact:
    """Return the tensor that has the same elements in the same order, as it was
    computed.
    """
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or maker.name not in PASSING - JOINS or not maker.op.inputs:
            break
        before = maker.op.inputs[0]
        if before.numel != fact.numel:
            break
        fact = before
    return fact


def _find_running(
    scene: HazardContext, product: Fact, opacity: Fact
) -> OperatorCall | None:
    """Return the cumulative call that gave a factor, if it runs over what the opacity
    leaves, or None.
    """
    maker = scene.maker(_follow(scene, product))
    if maker is None or not maker.op.inputs:
        return None
    if maker.name == "cumprod":
        passed = _strip_limits(scene, maker.op.inputs[0])
        is_rest = _is_rest(scene, passed, opacity) or _is_rest(scene, opacity, passed)
        return maker if is_rest else None
    if maker.name != "exp":
        return None
    total = _find_negated(scene, maker.op.inputs[0])
    running = scene.maker(total) if total is not None else None
    if running is None or running.name != "cumsum":
        return None
    density = _follow(scene, running.op.inputs[0])
    left = _get_rest(scene, opacity)
    power = scene.maker(left) if left is not None else None
    if power is None or power.name != "exp":
        return None
    own = _find_negated(scene, power.op.inputs[0])
    is_same = own is not None and own.tensor == density.tensor
    return running if is_same else None


def _strip_limits(scene: HazardContext, fact: Fact) -> Fact:
    """Return what a tensor is, without a small number that is added and a limit."""
    for _ in range(FARTHEST):
        fact = _follow(scene, fact)
        maker = scene.maker(fact)
        is_number = maker is not None and len(maker.op.inputs) == 1
        if maker is None or not is_number or maker.name not in SUMS | LIMITS:
            return fact
        fact = maker.op.inputs[0]
    return fact


def _get_rest(scene: HazardContext, fact: Fact) -> Fact | None:
    """Return `x` of a tensor that is `1 - x`, or None."""
    maker = scene.maker(fact)
    if maker is None or len(maker.op.inputs) != 1:
        return None
    is_turned = maker.op.function.endswith("rsub__") or maker.name == "rsub"
    number = maker.given(1, "other")
    is_one = isinstance(number, int | float) and number == 1
    return _follow(scene, maker.op.inputs[0]) if is_turned and is_one else None


def _is_rest(scene: HazardContext, fact: Fact, of: Fact) -> bool:
    """Return whether a tensor is 1 minus another."""
    rest = _get_rest(scene, fact)
    return rest is not None and rest.tensor == of.tensor


def _find_negated(scene: HazardContext, fact: Fact) -> Fact | None:
    """Return `x` of a tensor that is `-x`, also `s * d` of `-s * d`, or None."""
    maker = scene.maker(_follow(scene, fact))
    if maker is None or len(maker.op.inputs) != 1:
        return None
    if maker.name == "neg" or maker.op.function.endswith(".neg"):
        return _follow(scene, maker.op.inputs[0])
    return None
