"""Find probabilities that are taken for truths or whole numbers as they are: none of
them is 0, so that all are true, and all are less than 1, so that each becomes 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import find_value_maker
from shapewright.findings.codes import LOGIT_THRESHOLD
from shapewright.findings.finding import Finding

PROBABLE = frozenset({"sigmoid", "softmax"})
CASTS = frozenset({"bool", "int", "long", "to", "type", "short", "byte"})
WHOLE = ("int", "uint")


def find_hard_truths(scene: HazardContext) -> Iterator[Finding]:
    """Find `probabilities.bool()` and `probabilities.long()`."""
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name not in CASTS or op.span is None or op.span in seen:
            continue
        if len(op.inputs) != 1 or not op.inputs[0].dtype.startswith(("float", "bf")):
            continue
        to = op.outputs[0].dtype
        if to != "bool" and not to.startswith(WHOLE):
            continue
        maker = find_value_maker(scene, op.inputs[0])
        if maker is None or maker.name not in PROBABLE:
            continue
        seen.add(op.span)
        result = "all are true" if to == "bool" else "all become 0"
        name = scene.words(op)[0]
        yield scene.finding(
            LOGIT_THRESHOLD,
            op,
            f"{name} holds probabilities of `{maker.name}`, more than 0 and less than"
            f" 1: as {to}, {result}",
            (maker.op, "the probabilities are made here"),
        )
