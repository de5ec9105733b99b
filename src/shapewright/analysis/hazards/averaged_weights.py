"""Find averages of weights that forget: the decay multiplies the new weights.

A running average keeps most of what it was. Blends of two models that are made once are
right with any factor, and a decay that warms up is small at first: so the same small
factor must come again after another step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.forgetful_means import find_forgetful_means
from shapewright.analysis.hazards.loss_terms import DIFFERENCES, PRODUCTS, SUMS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import DECAY_SWAPPED, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

SCALES = PRODUCTS | {"mul_", "*=", "__imul__"}
LARGEST = 0.06
"""Share of an average that an update keeps, if its factors are swapped."""
CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class _Update:
    """An update of an average: the share it keeps, and what it takes in."""

    call: OperatorCall
    kept: float
    average: Fact
    source: Fact


@looks_for(DECAY_SWAPPED)
def find_swapped_decays(scene: HazardContext) -> Iterator[Finding]:
    """Find running averages of trained weights, and running means of batches, that keep
    next to nothing.
    """
    yield from find_forgetful_means(scene)
    trained = {
        fact.storage
        for op in scene.program.trace.ops
        if any(result.requires_grad and not result.is_leaf for result in op.outputs)
        for fact in op.inputs
        if fact.is_leaf and fact.requires_grad
    }
    passes = [
        op.index for op in scene.program.trace.ops if op.name.endswith("backward")
    ]
    first: dict[object, _Update] = {}
    seen: set[object] = set()
    for call in scene.calls if trained and len(passes) > 1 else ():
        span = call.op.span
        update = None if span is None or span in seen else _get_update(scene, call)
        if update is None or update.source.storage not in trained:
            continue
        if update.average.storage in trained:
            continue
        before = first.setdefault((span, update.source.storage), update)
        between = range(before.call.op.index, call.op.index)
        if before.kept != update.kept or not any(at in between for at in passes):
            continue
        seen.add(span)
        message = (
            f"the average keeps {update.kept:.4g} of itself and takes"
            f" {1 - update.kept:.4g} of the new weights: it is nearly a copy of the"
            " last ones, as if its two factors were swapped"
        )
        yield scene.finding(DECAY_SWAPPED, call.op, message)


def _get_update(scene: HazardContext, call: OperatorCall) -> _Update | None:
    """Return the update that a call ends, if it keeps a small share, or None."""
    inputs = call.op.inputs
    if len(inputs) != 2 or inputs[0].shape != inputs[1].shape:
        return None
    if call.name in ("lerp", "lerp_"):
        weight = call.given(2, "weight")
        kept = 1 - weight if isinstance(weight, int | float) else 1.0
        small = CLOSE < kept <= LARGEST
        return _Update(call, kept, *inputs) if small else None
    if call.name not in SUMS:
        return None
    step = _get_step(scene, call)
    if step is not None:
        return step
    scaled = [_get_scaled(scene, call, fact) for fact in inputs]
    alpha = call.given(2, "alpha", default=1)
    scaled[1] = scaled[1][0], scaled[1][1] * float(alpha)
    (average, kept), (source, share) = sorted(scaled, key=lambda part: part[1])
    if not CLOSE < kept <= LARGEST or abs(kept + share - 1) > CLOSE:
        return None
    written = call.op.kind == "inplace" and inputs[0].storage
    if written and average.storage != written:
        return None
    return _Update(call, kept, average, source)


def _get_step(scene: HazardContext, call: OperatorCall) -> _Update | None:
    """Return the update of `average + share * (weights - average)`."""
    alpha = call.given(2, "alpha", default=1)
    for average, other in (call.op.inputs, call.op.inputs[::-1]):
        part, share = _get_scaled(scene, call, other)
        difference = scene.maker(part)
        if difference is None or difference.name not in DIFFERENCES:
            continue
        if len(difference.op.inputs) != 2 or difference.arguments.get("alpha"):
            continue
        source, old = difference.op.inputs
        kept = 1 - share * float(alpha)
        if old.storage == average.storage and CLOSE < kept <= LARGEST:
            return _Update(call, kept, average, source)
    return None


def _get_scaled(
    scene: HazardContext, call: OperatorCall, fact: Fact
) -> tuple[Fact, float]:
    """Return what a summand is a multiple of, and the factor."""
    maker = scene.maker(fact)
    if call.op.kind == "inplace" and fact is call.op.inputs[0]:
        before = [
            user
            for user in scene.users.get(fact.tensor, ())
            if user.op.index < call.op.index and user.op.kind == "inplace"
        ]
        maker = before[-1] if before else None
    if maker is None or maker.name not in SCALES or len(maker.op.inputs) != 1:
        return fact, 1.0
    number = maker.given(1, "other", default=maker.given(0))
    if not isinstance(number, int | float):
        return fact, 1.0
    return maker.op.inputs[0], float(number)
