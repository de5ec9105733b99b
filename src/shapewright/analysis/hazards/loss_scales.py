"""Find losses that are averaged too early, and sums of batches that meet means.

Any weight between two terms is right somewhere. So a term is looked at only where the
program gives it none: no factor, no division by a size. A sum over the latents first,
and the mean over samples then, is looked at beside a mean of many pixels only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    DIFFERENCES,
    NEGATIONS,
    PRODUCTS,
    QUOTIENTS,
    SUMS,
    find_terms,
    get_call_name,
    is_negated,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import FOCAL_ON_MEAN, MIXED_REDUCTIONS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

POWERS = frozenset({"**", "pow"})
SQUARES = POWERS | {"square"}
REDUCTIONS = frozenset({"sum", "mean"})
OWN_FACTORS = (0.5, 1.0)
"""Factors that belong to a divergence of normal distributions: half of it, or all."""
LEAST = 32
"""How many elements a sum has at least, for its mean to be another scale."""
LEAST_PIXELS = 64
"""How many a sample has at least, for their mean to outweigh a sum of latents."""
OF_SAMPLES = "the mean over samples of a sum"


@dataclass(frozen=True, slots=True)
class _Reduced:
    """A term of a loss that is one number: the call that made it so, and how."""

    call: OperatorCall
    how: str
    factor: float


@looks_for(MIXED_REDUCTIONS)
def find_mixed_reductions(scene: HazardContext) -> Iterator[Finding]:
    """Find a divergence that is averaged beside a reconstruction that is summed, or
    the reverse, with no weight between them.
    """
    seen: set[object] = set()
    for loss in iter_losses(scene):
        terms = list(_iter_reduced(scene, loss))
        for term in terms:
            if term.call.op.span in seen or not _is_divergence(scene, term):
                continue
            other = _find_reconstruction(scene, terms, term)
            if other is None or other.call.op.span is None:
                continue
            seen.add(term.call.op.span)
            yield _report_mixed(scene, term, other)


def _iter_reduced(scene: HazardContext, loss: Fact) -> Iterator[_Reduced]:
    """Yield the terms of a loss that are sums or means of all their elements."""
    waiting = [(loss, 1.0)]
    for _ in range(24):
        if not waiting:
            return
        fact, factor = waiting.pop(0)
        call = scene.maker(fact)
        if call is None or not call.op.inputs or fact.shape:
            continue
        inputs = call.op.inputs
        if call.name in ALL_LOSSES:
            yield _Reduced(call, str(call.op.reduction), factor)
        elif call.name in REDUCTIONS and inputs[0].shape:
            yield _read_mean_of_sums(scene, call, factor) or _Reduced(
                call, call.name, factor
            )
        elif call.name in SUMS | DIFFERENCES and len(inputs) == 2:
            waiting += [(part, factor) for part in inputs]
        elif call.name in PRODUCTS | QUOTIENTS and len(inputs) == 1:
            number = call.given(1, "other", default=call.given(0))
            if isinstance(number, int | float) and number:
                number = 1 / number if call.name in QUOTIENTS else number
                waiting.append((inputs[0], factor * number))
        elif _is_negation(call):
            waiting.append((inputs[0], -factor))


def _read_mean_of_sums(
    scene: HazardContext, call: OperatorCall, factor: float
) -> _Reduced | None:
    """Return the sum that a term makes for each sample, if the term is their mean:
    `x.sum(1).mean()`, `x.sum() / len(x)`.
    """
    fact = call.op.inputs[0]
    if call.name == "sum" and fact.ndim > 1:
        samples = fact.shape[0]
        is_divided = samples > 1 and abs(factor) * samples in OWN_FACTORS
        return _Reduced(call, OF_SAMPLES, factor * samples) if is_divided else None
    rows = fact.shape
    for _ in range(4):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs or len(rows) != 1:
            return None
        if maker.name == "sum" and maker.op.inputs[0].ndim > 1:
            is_first = maker.op.inputs[0].shape[:1] == rows
            return _Reduced(maker, OF_SAMPLES, factor) if is_first else None
        if _is_negation(maker):
            factor = -factor
        elif maker.name in PRODUCTS and len(maker.op.inputs) == 1:
            number = maker.given(1, "other", default=maker.given(0))
            factor *= number if isinstance(number, int | float) else 0.0
        else:
            return None
        fact = maker.op.inputs[0]
    return None


def _is_divergence(scene: HazardContext, term: _Reduced) -> bool:
    """Return whether a term holds `exp(v) - v`, with no weight but its own half."""
    if term.how not in REDUCTIONS | {OF_SAMPLES} or term.call.name not in REDUCTIONS:
        return False
    whole = term.call.op.inputs[0]
    if len(whole.shape) < 2:
        return False
    maker = scene.maker(whole)
    if maker is not None and get_call_name(scene, maker.op) == "kl_divergence":
        return abs(term.factor) == 1 and whole.requires_grad
    parts = find_terms(scene, whole)
    for part in parts:
        maker = scene.maker(part.fact)
        if maker is None or maker.name != "exp" or part.fact.shape != whole.shape:
            continue
        if abs(term.factor * part.factor) not in OWN_FACTORS:
            continue
        log = maker.op.inputs[0].tensor
        if any(o.fact.tensor == log and o.factor * part.factor < 0 for o in parts):
            return bool(part.fact.requires_grad)
    return False


def _find_reconstruction(
    scene: HazardContext, terms: list[_Reduced], divergence: _Reduced
) -> _Reduced | None:
    """Return the term without a factor that is reduced in the other way, or None."""
    wanted = "sum" if divergence.how == "mean" else "mean"
    least = LEAST_PIXELS if divergence.how == OF_SAMPLES else 1
    samples = divergence.call.op.inputs[0].shape[0]
    for term in terms:
        first = term.call.op.inputs[0]
        if term is divergence or term.how != wanted or abs(term.factor) != 1:
            continue
        own = term.call.name in ALL_LOSSES or _is_squared(scene, first)
        if not own or len(first.shape) < 2 or first.shape[0] % samples or samples < 2:
            continue
        if first.numel < least * first.shape[0]:
            continue
        if min(first.numel, divergence.call.op.inputs[0].numel) >= LEAST:
            return term
    return None


def _is_squared(scene: HazardContext, fact: Fact) -> bool:
    maker = scene.maker(fact)
    return maker is not None and maker.name in SQUARES


def _report_mixed(scene: HazardContext, term: _Reduced, other: _Reduced) -> Finding:
    """Return the finding on a divergence beside a reconstruction of another scale."""
    if term.how == OF_SAMPLES:
        first = other.call.op.inputs[0]
        latents = term.call.op.inputs[0].numel // term.call.op.inputs[0].shape[0]
        count = first.numel // first.shape[0]
        message = (
            f"the reconstruction is a mean over the {count} numbers of a sample and the"
            f" divergence a sum of {latents} for each, added without a weight: the"
            f" reconstruction counts {count} times too little"
        )
        where = "the divergence: a sum for each sample"
        return scene.finding(
            MIXED_REDUCTIONS, other.call.op, message, (term.call.op, where)
        )
    summed, averaged = (other, term) if term.how == "mean" else (term, other)
    names = {id(term): "the divergence", id(other): "the reconstruction"}
    count = averaged.call.op.inputs[0].numel
    message = (
        f"{names[id(averaged)]} is a mean of {count} numbers and {names[id(summed)]} a"
        f" sum of {summed.call.op.inputs[0].numel}, added without a weight:"
        f" {names[id(averaged)]} counts {count} times too little"
    )
    where = f"{names[id(other)]}: a {other.how}"
    return scene.finding(
        MIXED_REDUCTIONS, term.call.op, message, (other.call.op, where)
    )


@looks_for(FOCAL_ON_MEAN)
def find_focal_means(scene: HazardContext) -> Iterator[Finding]:
    """Find focal factors that are computed from the mean of a batch."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2 or call.shape:
            continue
        for fact, other in (call.op.inputs, call.op.inputs[::-1]):
            exponential = _find_focal(scene, fact)
            if exponential is None or exponential.op.span in seen:
                continue
            loss = _strip_numbers(scene, exponential.op.inputs[0])
            maker = scene.maker(loss)
            if maker is None or loss.shape or not _is_whole_loss(scene, maker):
                continue
            first = maker.op.inputs[0]
            count = first.shape[0] if first.shape else 1
            if count < 2 or _strip_numbers(scene, other).tensor != loss.tensor:
                continue
            seen.add(exponential.op.span)
            message = (
                f"the focal factor follows from the loss of the whole batch, which"
                f" {scene.operation(maker.op)} has reduced: it is one number for all"
                f" {count} samples and weights none of them"
            )
            yield scene.finding(
                FOCAL_ON_MEAN,
                exponential.op,
                message,
                (maker.op, 'one number for the batch here: `reduction="none"`'),
            )


def _is_whole_loss(scene: HazardContext, maker: OperatorCall) -> bool:
    """Return whether a call reduces the losses of a batch: one of torch's losses, or a
    mean or sum of negated logarithms that the program writes.
    """
    if maker.name in ALL_LOSSES:
        return True
    if maker.name not in REDUCTIONS or not maker.op.inputs[0].shape:
        return False
    waiting = [maker.op.inputs[0]]
    for _ in range(10):
        call = scene.maker(waiting.pop(0)) if waiting else None
        if call is None:
            continue
        if call.name in LOGARITHMS:
            return True
        waiting += call.op.inputs
    return False


LOGARITHMS = operators_with("is_logarithm") | {"log_softmax", "logsigmoid", "logsumexp"}


def _find_focal(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the `exp(-loss)` of `(1 - exp(-loss)) ** gamma`, or None."""
    power = scene.maker(_strip_numbers(scene, fact))
    if power is None or power.name not in POWERS or len(power.op.inputs) != 1:
        return None
    rest = scene.maker(power.op.inputs[0])
    if rest is not None and _is_negation(rest):
        shifted = scene.maker(_strip_numbers(scene, rest.op.inputs[0]))
        is_whole = shifted is not None and shifted.name in ("expm1", "special_expm1")
        return (
            shifted if is_whole and shifted is not None and not shifted.shape else None
        )
    if rest is None or len(rest.op.inputs) != 1 or not is_negated(rest):
        return None
    exponential = scene.maker(rest.op.inputs[0])
    if exponential is None or exponential.name != "exp" or exponential.shape:
        return None
    return exponential


def _strip_numbers(scene: HazardContext, fact: Fact) -> Fact:
    """Return the tensor of which a tensor is a multiple."""
    for _ in range(6):
        call = scene.maker(fact)
        if call is None or len(call.op.inputs) != 1:
            break
        if call.name not in PRODUCTS and not _is_negation(call):
            break
        fact = call.op.inputs[0]
    return fact


def _is_negation(call: OperatorCall) -> bool:
    """Return whether a call is `-x`, and not `1 - x`."""
    alone = len(call.op.inputs) == 1 and not call.arguments
    return alone and call.name in NEGATIONS | {"-"}
