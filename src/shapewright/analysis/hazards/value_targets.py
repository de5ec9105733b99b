"""Find targets of value learning that are none: numbers of actions in the place of
their values, values of the next state that are trained too.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    SUMS,
    find_ancestors,
    find_base,
)
from shapewright.analysis.hazards.step_numbers import describe_step_places
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import INDEX_AS_VALUE, TEACHER_WITH_GRAPH, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

INDICES = operators_with("returns_indices") | {"max", "min"}
SMALLEST_DISCOUNT = 0.5
FARTHEST = 60
"""Calls from a target back to what it is made of."""


def _iter_discounted(
    scene: HazardContext, target: Fact
) -> Iterator[tuple[OperatorCall, Fact]]:
    """Yield the tensors that are multiplied by a discount and added to a reward, with
    the call that multiplies them.
    """
    for call in find_ancestors(scene, target, FARTHEST).values():
        if call.name not in SUMS or len(call.op.inputs) != 2:
            continue
        for fact in call.op.inputs:
            factors: list[tuple[OperatorCall, Fact]] = []
            if _collect_factors(scene, fact, factors):
                yield from factors


def _collect_factors(
    scene: HazardContext, fact: Fact, factors: list[tuple[OperatorCall, Fact]]
) -> bool:
    """Add the tensors of a product to a list; return whether a discount is in it."""
    call = scene.maker(find_base(scene, fact))
    if call is None or call.name not in PRODUCTS:
        return False
    number = call.given(1, "other", default=call.given(0))
    is_discounted = isinstance(number, float) and SMALLEST_DISCOUNT < number < 1
    for part in call.op.inputs:
        factors.append((call, part))
        is_discounted = _collect_factors(scene, part, factors) or is_discounted
    return is_discounted


@looks_for(INDEX_AS_VALUE)
def find_indices_as_values(scene: HazardContext) -> Iterator[Finding]:
    """Find the numbers of the best actions, discounted as if they were their values,
    and the places of steps, given as if they were the steps.
    """
    yield from describe_step_places(scene.program)
    seen = set[object]()
    for call in scene.calls:
        if call.name not in LOSSES or len(call.op.inputs) < 2:
            continue
        for product, fact in _iter_discounted(scene, call.op.inputs[1]):
            index = _find_index(scene, fact)
            if index is None or product.op.span in seen or product.op.span is None:
                continue
            seen.add(product.op.span)
            at = product.op.inputs.index(fact)
            name = scene.words(product.op)[at]
            message = (
                f"{name} holds the numbers of the best actions, and is discounted and"
                " added to a reward as if it were their values"
            )
            place = (index.op, f"`{index.name}` gives the numbers here")
            yield scene.finding(INDEX_AS_VALUE, product.op, message, place)


def _find_index(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that gave the indices which a tensor shows, or None."""
    base = find_base(scene, fact)
    maker = scene.maker(base)
    is_index = maker is not None and maker.name in INDICES and base.dtype == "int64"
    return maker if is_index else None


def find_bootstrapped_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find targets with the graph of the next state's value."""
    seen = set[object]()
    for call in scene.calls:
        both = call.op.inputs[:2]
        if call.name not in LOSSES or len(both) < 2 or call.op.span in seen:
            continue
        if call.op.span is None or not all(fact.requires_grad for fact in both):
            continue
        for at in (1, 0):  # some write the target first
            values = [value for _, value in _iter_discounted(scene, both[at])]
            if not any(value.requires_grad for value in values):
                continue
            seen.add(call.op.span)
            name = scene.words(call.op)[at]
            message = (
                f"{name} is the target, and still has the graph of the next state's"
                " value: gradients flow into that value too, which is to stay as it is"
            )
            yield scene.finding(
                TEACHER_WITH_GRAPH,
                call.op,
                message,
                (call.op, f"{name} is a target here: `detach()` it"),
            )
            break
