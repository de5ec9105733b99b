"""Find smoothed labels that do not sum to one: `one_hot * (1 - eps) + eps`, where each
of n classes gets all of `eps`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    SUMS,
    find_ancestors,
    find_base,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOSS_INPUT
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact, Op

ONE_HOT = frozenset({"one_hot", "scatter_"})
LOGARITHMS = frozenset({"log_softmax", "log"})
NEAR = 0.02
NEAREST = 4


def find_smoothed_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find smoothed rows of labels, multiplied by logarithms of probabilities, whose
    sum is not 1.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SUMS or len(call.op.inputs) != 1:
            continue
        share = call.given(1, "other", default=call.given(0))
        if not isinstance(share, float) or call.op.span in seen:
            continue
        rows = call.op.inputs[0]
        scaled = scene.maker(rows)
        if scaled is None or scaled.name not in PRODUCTS or len(scaled.op.inputs) != 1:
            continue
        kept = scaled.given(1, "other", default=scaled.given(0))
        if not isinstance(kept, float) or not _is_one_hot(scene, scaled.op.inputs[0]):
            continue
        classes = rows.shape[-1] if rows.ndim == 2 else rows.shape[1]
        total = kept + share * classes
        if abs(total - 1) < NEAR or classes < 3 or call.op.span is None:
            continue
        reader = _find_reader(scene, call)
        if reader is None:
            continue
        seen.add(call.op.span)
        yield scene.finding(
            LOSS_INPUT,
            call.op,
            f"each row of labels sums to {total:.3g} and not to 1: all of the"
            f" {classes} classes get {share:g} each; `{share:g} / {classes}` for each",
            (reader, "they weigh the logarithms here"),
        )


def _is_one_hot(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds rows with a single one."""
    if fact.ndim < 2:
        return False
    base = find_base(scene, fact)
    maker = scene.maker(base)
    writes = scene.writes.get(base.storage, ())
    names = {write.name for write in writes} | {maker.name if maker else ""}
    return bool(names & ONE_HOT)


def _find_reader(scene: HazardContext, call: OperatorCall) -> Op | None:
    """Return the call that multiplies labels with logarithms of probabilities, or the
    cross entropy that takes them.
    """
    for user in scene.users.get(call.op.outputs[0].tensor, ()):
        if user.name in ("cross_entropy", "kl_div"):
            return user.op
        if user.name not in PRODUCTS or len(user.op.inputs) != 2:
            continue
        for part in user.op.inputs:
            makers = find_ancestors(scene, part, NEAREST).values()
            if any(maker.name in LOGARITHMS for maker in makers):
                return user.op
    return None
