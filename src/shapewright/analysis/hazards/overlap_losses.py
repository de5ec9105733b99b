"""Find losses of an overlap, such as dice: of logits, or with the wrong sign."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    DIFFERENCES,
    PRODUCTS,
    QUOTIENTS,
    SUMS,
    find_base,
    find_terms,
    iter_losses,
)
from shapewright.analysis.hazards.minimized_similarities import (
    find_minimized_similarities,
)
from shapewright.analysis.hazards.value_makers import LINEAR, find_value_maker
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOSS_INPUT, MINIMIZED_OVERLAP, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact


@dataclass(frozen=True, slots=True)
class _Overlap:
    """A quotient of an overlap in a loss: ``2 * (p * t).sum() / (p.sum() + t.sum())``,
    with the prediction, and how often the loss adds it.
    """

    quotient: OperatorCall
    product: OperatorCall
    prediction: Fact
    factor: float
    share: float  # how often the product of the two is in the dividend


def _iter_overlaps(scene: HazardContext) -> Iterator[_Overlap]:
    """Yield the overlaps of predictions and masks in all losses."""
    for loss in iter_losses(scene):
        for term in find_terms(scene, loss):
            call = scene.maker(term.fact)
            if call is None or call.name not in QUOTIENTS or len(call.op.inputs) != 2:
                continue
            summed = _collect_summed(scene, call.op.inputs[1])
            for part in find_terms(scene, call.op.inputs[0]):
                product = scene.maker(part.fact)
                if product is None or product.name not in PRODUCTS:
                    continue
                pair = product.op.inputs
                if len(pair) != 2 or pair[0].requires_grad == pair[1].requires_grad:
                    continue
                prediction, mask = sorted(pair, key=lambda fact: not fact.requires_grad)
                own = {find_base(scene, fact).tensor for fact in (prediction, mask)}
                if own <= summed:
                    factor = term.factor * part.factor
                    yield _Overlap(call, product, prediction, factor, part.factor)


def _collect_summed(scene: HazardContext, fact: Fact) -> set[int]:
    """Return the tensors whose sums are added up, a square for what it is of."""
    summed, waiting = set[int](), [fact]
    for _ in range(MOST):
        call = scene.maker(waiting.pop()) if waiting else None
        if call is None:
            break
        if call.name == "sum":
            base = find_base(scene, call.op.inputs[0])
            square = scene.maker(base)
            if square is not None and square.name in SQUARES | PRODUCTS:
                base = find_base(scene, square.op.inputs[0])
            summed.add(base.tensor)
        elif call.name in SUMS | DIFFERENCES | {"clamp", "clamp_min"}:
            waiting += call.op.inputs
    return summed


MOST = 12
"""Calls between a quotient and its sums."""
SQUARES = frozenset({"pow", "**", "square"})


def find_overlaps_of_logits(scene: HazardContext) -> Iterator[Finding]:
    """Find overlaps of logits, which may be negative, with masks of 0 and 1."""
    seen = set[object]()
    for overlap in _iter_overlaps(scene):
        op = overlap.quotient.op
        maker = find_value_maker(scene, overlap.prediction)
        if maker is None or maker.name not in LINEAR or op.span in seen:
            continue
        seen.add(op.span)
        line = f" at line {maker.op.span.line}" if maker.op.span is not None else ""
        product = overlap.product.op
        at = [f.tensor for f in product.inputs].index(overlap.prediction.tensor)
        yield scene.finding(
            LOSS_INPUT,
            op,
            f"this overlap with a mask takes {scene.words(product)[at]} for"
            f" probabilities, and it holds logits of `{maker.name}`{line}, which may be"
            " negative and more than 1",
            (maker.op, "logits are made here"),
        )


@looks_for(MINIMIZED_OVERLAP)
def find_minimized_overlaps(scene: HazardContext) -> Iterator[Finding]:
    """Find overlaps that are minimized: `loss = dice` for `loss = 1 - dice`, and
    similarities.
    """
    yield from find_minimized_similarities(scene)
    seen = set[object]()
    for overlap in _iter_overlaps(scene):
        op = overlap.quotient.op
        if overlap.factor <= 0 or op.span is None or op.span in seen:
            continue
        seen.add(op.span)
        yield scene.finding(
            MINIMIZED_OVERLAP,
            op,
            "the loss adds this overlap of prediction and mask: minimizing it drives"
            " them apart, and `1 - overlap` is the loss",
        )
    yield from _find_halved_overlaps(scene)


def _find_halved_overlaps(scene: HazardContext) -> Iterator[Finding]:
    """Find `(p * t).sum() / (p.sum() + t.sum())` without its factor of 2: where the two
    are equal it is a half.
    """
    seen = set[object]()
    for overlap in _iter_overlaps(scene):
        op = overlap.quotient.op
        if overlap.share != 1 or op.span is None or op.span in seen:
            continue
        below = find_terms(scene, op.inputs[1])
        products = PRODUCTS & {
            maker.name
            for term in below
            if (maker := scene.maker(term.fact)) is not None
        }
        if len(below) < 2 or products or any(term.factor <= 0 for term in below):
            continue  # the union, or squares
        seen.add(op.span)
        yield scene.finding(
            MINIMIZED_OVERLAP,
            op,
            "this overlap of prediction and mask is 0.5 where the two are equal:"
            " dice is twice the product over the sum of both",
            (overlap.product.op, "`2 *` belongs to this product"),
        )
