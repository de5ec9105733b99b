"""Find logits that are compared with 0.5 as if they were probabilities.

The loss of the same output tells that these are logits: it has its sigmoid inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.hard_truths import find_hard_truths
from shapewright.analysis.hazards.several_labels import THRESHOLDS
from shapewright.analysis.hazards.value_makers import LINEAR, find_value_maker
from shapewright.findings.codes import LOGIT_THRESHOLD, looks_for
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact, Op

LOSS = "binary_cross_entropy_with_logits"
HALF = 0.5


@looks_for(LOGIT_THRESHOLD)
def find_logit_thresholds(scene: HazardContext) -> Iterator[Finding]:
    """Find `logits > 0.5` of what a loss with a sigmoid inside takes elsewhere."""
    yield from find_hard_truths(scene)
    losses: dict[str, Op] = {}
    for call in scene.calls:
        if call.name == LOSS and call.op.inputs:
            layer = _find_layer(scene, call.op.inputs[0])
            if layer:
                losses.setdefault(layer, call.op)
    seen: set[object] = set()
    for call in scene.calls if losses else ():
        if call.op.span is None or call.op.span in seen or len(call.op.inputs) != 1:
            continue
        if call.name not in THRESHOLDS:
            continue
        is_half = call.given(1, "other") == HALF
        if not is_half and call.name != "round":
            continue
        loss = losses.get(_find_layer(scene, call.op.inputs[0]))
        if loss is None:
            continue
        seen.add(call.op.span)
        name = scene.words(call.op)[0]
        what = "compared with 0.5" if is_half else "rounded"
        message = (
            f"{name} holds logits and is {what} like probabilities: a probability of"
            " 0.5 is a logit of 0, and a logit of 0.5 a probability of 0.62"
        )
        where = "its loss takes logits here, with a sigmoid inside"
        yield scene.finding(LOGIT_THRESHOLD, call.op, message, (loss, where))


def _find_layer(scene: HazardContext, fact: Fact) -> str:
    """Return the path of the layer whose outputs a tensor holds as they are, or an
    empty text.
    """
    maker = find_value_maker(scene, fact)
    return maker.op.module if maker is not None and maker.name in LINEAR else ""
