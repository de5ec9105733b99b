"""Find mixed samples whose labels are weighed the other way round: `lam * x +
(1 - lam) * x[p]` with `(1 - lam) * loss(y) + lam * loss(y[p])`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    SUMS,
    find_base,
    find_terms,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PAIRED_ROWS
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

NEAR = 1e-6


def find_exchanged_mixtures(scene: HazardContext) -> Iterator[Finding]:
    """Find losses that weigh the labels of the permuted samples by the share of those
    that were not permuted.
    """
    mixtures = {
        order: (call, share)
        for call in scene.calls
        if (mixture := _read_mixture(scene, call)) is not None
        for order, share in [mixture]
    }
    seen: set[object] = set()
    for loss in iter_losses(scene) if mixtures else ():
        weights: dict[int, float] = {}
        places: dict[int, OperatorCall] = {}
        for term in find_terms(scene, loss):
            call = scene.maker(term.fact)
            if call is None or call.name not in ALL_LOSSES or len(call.op.inputs) < 2:
                continue
            order = _get_order(scene, call.op.inputs[1])
            weights[order] = term.factor
            places[order] = call
        for order, (mix, share) in mixtures.items():
            own, other = weights.get(0), weights.get(order)
            if own is None or other is None or abs(own - other) < NEAR:
                continue
            is_exchanged = abs(own - (1 - share)) < NEAR and abs(other - share) < NEAR
            span = places[0].op.span
            if is_exchanged and span not in seen and span is not None:
                seen.add(span)
                yield scene.finding(
                    PAIRED_ROWS,
                    places[0].op,
                    f"the samples of these labels have a share of {share:.2g} in the"
                    f" mixture, and their loss has the other, {own:.2g}: the two"
                    " weights have changed places",
                    (mix.op, "the samples are mixed here"),
                )


def _read_mixture(scene: HazardContext, call: OperatorCall) -> tuple[int, float] | None:
    """Return the tensor that permutes the second samples of a mixture, and the share of
    the first.
    """
    if call.name not in SUMS or len(call.op.inputs) != 2:
        return None
    parts: list[tuple[Fact, float]] = []
    for fact in call.op.inputs:
        maker = scene.maker(fact)
        if maker is None or maker.name not in PRODUCTS or len(maker.op.inputs) != 1:
            return None
        number = maker.given(1, "other", default=maker.given(0))
        if not isinstance(number, float):
            return None
        parts.append((maker.op.inputs[0], number))
    (first, share), (second, rest) = parts
    if abs(share + rest - 1) > NEAR or abs(share - rest) < NEAR:
        return None
    order = _get_order(scene, second)
    index = scene.maker(second)
    if not order or index is None:
        return None
    source = find_base(scene, index.op.inputs[0]).tensor
    return (order, share) if source == find_base(scene, first).tensor else None


def _get_order(scene: HazardContext, fact: Fact) -> int:
    """Return the tensor of numbers by which a tensor is indexed, or 0."""
    call = scene.maker(find_base(scene, fact))
    if call is None or call.name not in ("[]", "index_select"):
        return 0
    if len(call.op.inputs) != 2 or call.op.inputs[1].dtype != "int64":
        return 0
    return call.op.inputs[1].tensor
