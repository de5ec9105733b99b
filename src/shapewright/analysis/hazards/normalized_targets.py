"""Find losses of probabilities whose targets were normalized: below the mean they are
negative, and no probability is.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.makers import iter_first_makers
from shapewright.findings.codes import LOSS_INPUT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

SUBTRACTING = operators_with("subtracts") | {"-", "-=", "sub", "sub_"}
DIVIDING = operators_with("divides_elements") | {"/", "/=", "div", "div_"}
PASSING = (
    operators_with("is_view", "copies_if_needed", "joins_tensors", "keeps_elements")
    | {"to", "clone"}
    | operators_with("reads_by_index")
)
MINIMA = operators_with("finds_extremes") | {"aminmax", "quantile"}
LOSSES = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
DRAWS = ("rand", "rand_like")
WHITE = 255
"""The largest value of a pixel."""
FARTHEST = 16
"""Calls between the data and the loss."""


def find_normalized_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find targets of `BCELoss` that are data minus their mean."""
    seen: set[object] = set()
    shifted = {
        call.op.outputs[0].tensor: call.op
        for call in scene.calls
        if call.name in SUBTRACTING and call.op.kind == "inplace" and call.op.outputs
    }
    for call in scene.calls:
        if call.name not in LOSSES or len(call.op.inputs) < 2:
            continue
        if call.op.span is None or call.op.span in seen:
            continue
        maker = _find_normalization(scene, call.op.inputs[1], shifted)
        if maker is None:
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.operation(call.op)} expects targets between 0 and 1, and"
            f" {scene.names(call.op)[1]} was normalized: below the mean it is negative"
        )
        if _is_of_prediction(scene, call.op, maker):
            message += ", as the inputs of the model are, by the same line"
        yield scene.finding(LOSS_INPUT, call.op, message, (maker, SHIFTED))


def _is_of_prediction(scene: HazardContext, loss: Op, maker: Op) -> bool:
    """Return whether a line that normalizes the targets of a loss also does so for what
    the model was given.
    """
    waiting, seen = [loss.inputs[0]], set[int]()
    while waiting and len(seen) < MOST:
        fact = waiting.pop(0)
        call = scene.maker(fact)
        if call is None or fact.tensor in seen:
            continue
        seen.add(fact.tensor)
        writes = scene.writes.get(fact.storage, ())
        if maker.span in {call.op.span, *(write.op.span for write in writes)}:
            return True
        waiting += call.op.inputs
    return False


MOST = 2_000
"""Calls of a model that are followed back to its inputs."""


def _find_normalization(
    scene: HazardContext, fact: Fact, shifted: dict[int, Op]
) -> Op | None:
    """Return the call that subtracts the mean of what a tensor was made of, or None."""
    is_divided = False
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        name = op.name.rpartition(".")[2]
        in_place = shifted.get(op.outputs[0].tensor) if op.outputs else None
        if in_place is not None:
            return in_place if _is_mean_subtracted(scene, in_place) else None
        if name in SUBTRACTING and is_divided:
            return op if _is_mean_subtracted(scene, op) else None
        if name in DIVIDING and not is_divided:
            is_divided = True
        elif name not in PASSING:
            return None
    return None


def _is_mean_subtracted(scene: HazardContext, op: Op) -> bool:
    """Return whether a call subtracts a mean, or a number from values between 0 and 1:
    a smallest value that is subtracted leaves nothing below 0.
    """
    if len(op.inputs) > 1:
        makers = iter_first_makers(scene.program, op.inputs[1], FARTHEST)
        names = {maker.name.rpartition(".")[2] for maker in makers}
        if names & MINIMA:
            return False
        if "mean" in names:
            return True
    return _is_between_0_and_1(scene, op.inputs[0]) if op.inputs else False


def _is_between_0_and_1(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds pixels divided by 255, or uniform draws."""
    for op in iter_first_makers(scene.program, fact, FARTHEST):
        name = op.name.rpartition(".")[2]
        number = scene.call(op).given(1)
        if name in DRAWS or (name in DIVIDING and number == WHITE):
            return True
        if name not in PASSING:
            return False
    return False


SHIFTED = "it is shifted by its mean here"
