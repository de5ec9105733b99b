"""Find logarithms of probabilities whose scores were masked before the softmax: those
are 0 exactly, and 0 times minus infinity is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOG_OF_ZERO
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

LOGARITHMS = operators_with("is_logarithm")
REPLACING = operators_with("replaces_odd_values")
KEEPING = operators_with(
    "is_view", "copies_if_needed", "keeps_zeros", "divides_elements"
) - {"[]"}  # fmt: skip
"""Calls after which each probability of 0 is still there."""
SUMS = frozenset({"sum", "mean"})
LARGEST = -200.0
"""What a fill is below where its exponential is 0 in float32 for usual scores."""
READERS = PRODUCTS | ALL_LOSSES | SUMS | {"gather"}
PASSING = operators_with("is_view", "copies_if_needed") | {"neg", "-"}
FARTHEST = 12


def find_logarithms_of_masked(scene: HazardContext) -> Iterator[Finding]:
    """Find `softmax(scores.masked_fill(mask, -inf)).log() * target`."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in LOGARITHMS or call.op.span in seen or not call.op.inputs:
            continue
        fill = _find_fill(scene, call.op.inputs[0])
        if fill is None or call.op.span is None:
            continue
        reader = _find_reader(scene, call.op.outputs[0])
        trained = call.op.inputs[0].requires_grad
        if reader is None or (not trained and reader.name in REPLACING):
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.words(call.op)[0]} is 0 wherever the scores are masked, and its"
            " logarithm is minus infinity there: times a 0 that is NaN, and so is the"
            " gradient"
        )
        yield scene.finding(
            LOG_OF_ZERO,
            call.op,
            message,
            (fill, "the scores are masked here"),
            (reader.op, "the logarithm is used here"),
        )


def _find_reader(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that takes a logarithm into a product, a sum or a loss; one that
    replaces what is infinite comes before others.
    """
    waiting, reader = [fact], None
    for _ in range(FARTHEST):
        if not waiting:
            break
        for user in scene.users.get(waiting.pop(0).tensor, ()):
            if user.name in REPLACING and user.name != "exp":
                return user
            if user.name in READERS:
                reader = reader or user
            elif user.name in PASSING:
                waiting.append(user.op.outputs[0])
    return reader


def _find_fill(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that hid some of the scores of which a tensor holds the
    probabilities, or sums of them over what the mask does not count; or None.
    """
    summed: set[int] = set()
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        name = op.name.rpartition(".")[2]
        if name == "softmax":
            return _find_mask(scene, op.inputs[0], summed) if op.inputs else None
        if name in SUMS and op.inputs:
            call = scene.call(op)
            dims = call.given(1, "dim")
            dims = dims if isinstance(dims, tuple | list) else (dims,)
            if summed or not all(type(dim) is int for dim in dims):
                return None
            ndim = op.inputs[0].ndim
            summed = {dim - ndim if dim >= 0 else dim for dim in dims}
            continue
        is_new_shape = (
            bool(summed) and op.inputs and (op.inputs[0].ndim != op.outputs[0].ndim)
        )
        if name not in KEEPING or op.function.endswith("__rtruediv__"):
            return None
        if is_new_shape:
            return None
    return None


def _find_mask(scene: HazardContext, fact: Fact, summed: set[int]) -> Op | None:
    """Return the call that fills scores of a softmax with what hides them, by a mask
    that is the same along the dims that are summed.
    """
    for user in scene.users.get(fact.tensor, ()):
        inputs = user.op.inputs
        is_write = user.op.name == "[]=" and inputs[0].tensor == fact.tensor
        if is_write and not summed and _is_hiding(user.given(2)):
            return user.op
    maker = scene.maker(fact)
    for _ in range(FARTHEST):
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in ("masked_fill", "masked_fill_"):
            mask = maker.op.inputs[1] if len(maker.op.inputs) > 1 else None
            hides = _is_hiding(maker.given(2, "value"))
        elif maker.name == "where" and len(maker.op.inputs) == 2:
            mask = maker.op.inputs[0]
            hides = _is_hiding(maker.given(2, "other")) or _is_hiding(
                maker.given(1, "input")
            )
        elif maker.name in KEEPING:
            maker = scene.maker(maker.op.inputs[0])
            continue
        else:
            return None
        if mask is None or not hides or mask.dtype != "bool":
            return None
        sizes = [mask.shape[dim] if -dim <= mask.ndim else 1 for dim in summed]
        return maker.op if all(size == 1 for size in sizes) else None
    return None


def _is_hiding(value: object) -> bool:
    """Return whether a softmax gives nothing to a score of this value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = float(value)
    except ValueError:
        return False
    return not isnan(number) and number < LARGEST
