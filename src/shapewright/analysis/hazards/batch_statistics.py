"""Find samples that are standardized by the mean and deviation of a whole batch, where
each has a score, or a place in a model's input, of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.batch_norms import (
    find_channel_factor,
    find_whole_batch_norm,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import DIFFERENCES, QUOTIENTS
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall, get_length
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import BATCH_DEPENDENCE
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

SPREADS = frozenset({"std", "var"})
SCORING = operators_with("adds_up_elements")
KEEPING = operators_with("clamps", "adds_terms") | {"+", "add", "sqrt", "clamp_min"}
ELEMENTWISE = operators_with("computes_each_element", "is_arithmetic") | {"**"}
OF_CHANNELS = "the result has a factor for each index of dim"
"""What is said of factors that are one for each channel."""
FARTHEST = 16
"""Calls behind a standardized batch that are looked at."""


def find_batch_statistics(scene: HazardContext) -> Iterator[Finding]:
    """Find `(x - x.mean()) / x.std()` of batches whose samples stand alone."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in QUOTIENTS or len(call.op.inputs) != 2:
            continue
        spread = _find_spread(scene, call.op.inputs[1])
        if spread is None or spread.op.span in seen or call.op.span is None:
            continue
        mean = _find_mean(scene, call.op.inputs[0], spread)
        dims = spread.dims[0]
        if mean is None or len(dims) < 3 or not scene.is_batch(dims[0]):
            continue
        if get_length(dims[0]) < 2:
            continue
        scored = _find_score(scene, call.op.outputs[0])
        in_model = bool(call.op.module and scene.program.batches)
        if scored is None and not in_model:
            continue
        scaled = find_channel_factor(scene, call)
        if scaled is not None and find_whole_batch_norm(scene, call) is not None:
            continue  # a batch norm, with the mean of all channels: `wrong-axis`
        seen.add(spread.op.span)
        score = scored.op if scored is not None else None
        shape = format_shape(spread.op.inputs[0])
        message = (
            f"the {get_length(dims[0])} samples are standardized by the mean and"
            f" deviation of all of them, {shape}: what comes of each depends on the"
            " rest of the batch"
        )
        yield scene.finding(
            BATCH_DEPENDENCE,
            spread.op,
            message,
            (mean.op, "the mean without `dim` is one of the whole batch"),
            (score, "each sample gets a number of its own here"),
            (scaled and scaled[0].op, f"{OF_CHANNELS} {scaled[1] if scaled else 0}"),
        )


def _find_spread(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the deviation of a whole tensor that a divisor was made of, or None."""
    if fact.shape:
        return None
    for op in iter_first_makers(scene.program, fact, 4):
        call = scene.call(op)
        if call.name in SPREADS:
            return call if _is_of_all(call) else None
        if call.name not in KEEPING:
            return None
    return None


def _find_mean(
    scene: HazardContext, fact: Fact, spread: OperatorCall
) -> OperatorCall | None:
    """Return the mean that was subtracted from what a deviation was taken of."""
    call = scene.maker(fact)
    if call is None or call.name not in DIFFERENCES or len(call.op.inputs) != 2:
        return None
    if call.op.inputs[0].tensor != spread.op.inputs[0].tensor:
        return None
    mean = scene.maker(call.op.inputs[1])
    if mean is None or mean.name != "mean" or not _is_of_all(mean):
        return None
    return mean if mean.op.inputs[0].tensor == spread.op.inputs[0].tensor else None


def _is_of_all(call: OperatorCall) -> bool:
    """Return whether a reduction takes all dims of its tensor."""
    gone = find_reduced_dims(call)
    return gone is not None and len(gone) == len(call.dims[0]) > 0


def _find_score(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the sum or mean over all dims but the first that comes of a tensor."""
    waiting, met = [fact], set[int]()
    while waiting and len(met) < FARTHEST:
        for user in scene.users.get(waiting.pop(0).tensor, ()):
            if user.op.index in met or not user.op.outputs:
                continue
            met.add(user.op.index)
            gone = find_reduced_dims(user) if user.name in SCORING else None
            if gone is not None and sorted(gone) == [*range(1, len(user.dims[0]))]:
                return user
            if user.name in ELEMENTWISE or user.name in DIFFERENCES | QUOTIENTS:
                waiting += user.op.outputs
    return None
