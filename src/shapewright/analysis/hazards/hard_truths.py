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
    yield from _find_limits(scene)
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


ABOVE = frozenset({">", ">=", "gt", "ge"})
BELOW = frozenset({"<", "<=", "lt", "le"})


def _find_limits(scene: HazardContext) -> Iterator[Finding]:
    """Find `torch.sigmoid(logits) > 0`, which is true everywhere."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in ABOVE | BELOW or len(call.op.inputs) != 1:
            continue
        limit = call.given(1, "other")
        if limit not in (0, 1) or call.op.span in seen:
            continue
        maker = find_value_maker(scene, call.op.inputs[0])
        if maker is None or maker.name != "sigmoid":
            continue
        seen.add(call.op.span)
        is_all = (limit == 0) == (call.name in ABOVE)
        result = "all are true" if is_all else "none is true"
        name = scene.words(call.op)[0]
        message = (
            f"{name} holds probabilities of `sigmoid`, more than 0 and less than 1:"
            f" compared with {limit:g}, {result}"
        )
        where = (maker.op, "the probabilities are made here")
        yield scene.finding(LOGIT_THRESHOLD, call.op, message, where)
