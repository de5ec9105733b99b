"""Find scores of all samples that are added up to one number, which each sample gets:
`(users * items).sum()` in place of a sum over the features; and such a sum of a loss,
of which each element of a mask gets the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import BATCH_DEPENDENCE
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

SUMS = operators_with("adds_terms") | {"+", "+=", "add"}
PRODUCTS = frozenset({"*", "mul", "multiply"})


def find_summed_batches(scene: HazardContext) -> Iterator[Finding]:
    """Find one sum of the products of all samples that is added to each sample."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SUMS or len(call.op.inputs) != 2 or call.op.span in seen:
            continue
        for at, fact in enumerate(call.op.inputs):
            other = call.op.inputs[1 - at]
            if fact.shape or len(other.shape) != 1 or not other.requires_grad:
                continue
            total = _find_total(scene, fact, other)
            if total is None or not scene.in_user_code(total.op):
                continue
            seen.add(call.op.span)
            shape = tuple(total.op.inputs[0].shape)
            message = (
                f"`{total.name}` of {shape} adds up the features of all {shape[0]}"
                f" samples, and each of the {shape[0]} samples gets the whole sum"
            )
            where = "each sample gets the sum here"
            yield scene.finding(BATCH_DEPENDENCE, total.op, message, (call.op, where))
    yield from _find_masked_sums(scene)


MASKS = operators_with("compares_elements")
SCALES = PRODUCTS | operators_with("negates", "divides_elements") | {"-"}
LONGEST = 4
"""Calls that scale a sum, at most."""


def _find_masked_sums(scene: HazardContext) -> Iterator[Finding]:
    """Yield findings for sums of a whole loss that are multiplied by a mask of its
    samples and steps: without `dim`, each of them gets the sum of all.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2:
            continue
        for at, fact in enumerate(call.op.inputs):
            mask = call.op.inputs[1 - at]
            total = _find_scaled_sum(scene, fact) if not fact.shape else None
            if total is None or total.op.span in seen or not _is_mask(scene, mask):
                continue
            shape = tuple(total.op.inputs[0].shape)
            if shape[:-1] != tuple(mask.shape) or not scene.in_user_code(total.op):
                continue
            seen.add(total.op.span)
            message = (
                f"`{total.name}` of {shape} adds up the features of all"
                f" {shape[0]} samples, and a mask of {tuple(mask.shape)} multiplies the"
                " sum: each element of the mask that is true gets the whole of it"
            )
            where = "the mask multiplies the sum here"
            yield scene.finding(BATCH_DEPENDENCE, total.op, message, (call.op, where))


def _find_scaled_sum(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the sum without `dim` that a trained number is, perhaps times a factor."""
    for _ in range(LONGEST):
        call = scene.maker(fact)
        if call is None or not fact.requires_grad or len(call.op.inputs) != 1:
            return None
        if call.name == "sum":
            summed = call.op.inputs[0]
            return call if len(summed.shape) > 1 and not fact.shape else None
        if call.name not in SCALES:
            return None
        fact = call.op.inputs[0]
    return None


def _is_mask(scene: HazardContext, fact: Fact) -> bool:
    """Return whether the elements of a tensor are truths, or 0 and 1 for them."""
    base = find_base(scene, fact, ("[]",))
    maker = scene.maker(base)
    is_compared = maker is not None and maker.name in MASKS
    return not fact.requires_grad and (base.dtype == "bool" or is_compared)


def _find_total(scene: HazardContext, fact: Fact, other: Fact) -> OperatorCall | None:
    """Return the call that sums products of two tensors of as many samples as another
    one has, both of which are trained.
    """
    total = scene.maker(fact)
    if total is None or not fact.requires_grad:
        return None
    if total.name == "einsum":
        sides = total.op.inputs
        is_of_pairs = len(sides) == 2 and sides[0].shape == sides[1].shape
        is_trained = all(
            side.requires_grad and side.shape[:1] == other.shape for side in sides
        )
        return total if is_of_pairs and is_trained and sides[0].ndim == 2 else None
    if total.name != "sum":
        return None
    summed = total.op.inputs[0]
    if len(summed.shape) != 2 or summed.shape[0] != other.shape[0]:
        return None
    product = scene.maker(summed)
    if product is None or product.name not in PRODUCTS:
        return None
    parts = product.op.inputs
    is_trained = all(
        part.requires_grad and part.shape == summed.shape for part in parts
    )
    return total if len(parts) == 2 and is_trained else None
