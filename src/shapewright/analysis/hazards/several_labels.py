"""Find a cross entropy over classes of which several are true at once.

Soft targets are right: mixed images, a teacher's probabilities. So the program must
decide for each class by itself elsewhere: a sigmoid of the same scores, a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    NEGATIONS,
    PRODUCTS,
    find_ancestors,
    find_base,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import SEVERAL_LABELS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

THRESHOLDS = frozenset({">", ">=", "gt", "ge", "<", "<=", "lt", "le", "round"})
SOFT = operators_with("gives_soft_labels")
FARTHEST = 6


@looks_for(SEVERAL_LABELS)
def find_several_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find cross entropies of scores that are decided upon one by one elsewhere, and of
    targets that are drawn one by one.
    """
    yield from _find_drawn_targets(scene)
    decided = list(_iter_decided(scene))
    seen: set[object] = set()
    for call in scene.calls if decided else ():
        if len(call.op.inputs) < 2 or not call.op.inputs[0].shape:
            continue
        scores, target = call.op.inputs[:2]
        if call.name in PRODUCTS:
            scores, target = _split_product(scene, call)
        elif call.name != "cross_entropy":
            continue
        if call.op.span is None or call.op.span in seen or scores.ndim < 2:
            continue
        soft = target.dtype.startswith("float") and target.shape == scores.shape
        if not soft or scores.shape[1] < 2 or _is_mixed(scene, target):
            continue
        place = _get_maker(scene, scores)
        sigmoid = next((c for where, c in decided if where == place), None)
        if place is None or sigmoid is None:
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.operation(call.op)} makes the {scores.shape[1]} classes compete,"
            f" but {scene.words(sigmoid.op)[0]} is decided class by class with a"
            " sigmoid: several may be true at once"
        )
        yield scene.finding(
            SEVERAL_LABELS,
            call.op,
            message,
            (sigmoid.op, "each class has a threshold of its own here"),
        )


def _find_drawn_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find cross entropies of targets of which each class is drawn as 0 or 1."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name != "cross_entropy" or len(call.op.inputs) < 2:
            continue
        scores, target = call.op.inputs[:2]
        soft = target.dtype.startswith("float") and target.shape == scores.shape
        if not soft or scores.ndim != 2 or scores.shape[1] < 3 or call.op.span in seen:
            continue
        draw = _find_draw(scene, target)
        if draw is None:
            continue
        seen.add(call.op.span)
        message = (
            f"{scene.operation(call.op)} makes the {scores.shape[1]} classes compete,"
            f" but {scene.words(call.op)[1]} is 0 or 1 for each of them: several may be"
            " true at once, or none"
        )
        why = "each class is drawn by itself here"
        yield scene.finding(SEVERAL_LABELS, call.op, message, (draw.op, why))


def _find_draw(scene: HazardContext, target: Fact) -> OperatorCall | None:
    """Return the call that drew 0 or 1 for each class of targets, whose rows are
    gathered and cast only.
    """
    fact = target
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None:
            return None
        if maker.name == "randint":
            numbers = [v for _, v in maker.op.arguments if type(v) is int]
            is_flag = numbers in ([0, 2], [2])
            return maker if is_flag and fact.ndim == 2 else None
        if maker.name not in GATHERING or not maker.op.inputs:
            return None
        fact = maker.op.inputs[0]
    return None


GATHERING = operators_with("joins_tensors", "is_view") | {"[]", "to", "float"}
"""Calls that gather and cast the rows of a batch."""


def _split_product(scene: HazardContext, call: OperatorCall) -> tuple[Fact, Fact]:
    """Return the scores and targets of `targets * log_softmax(scores)`; the factors of
    another product.
    """
    first, second = call.op.inputs[:2]
    for target, other in ((first, second), (second, first)):
        maker = scene.maker(other)
        if maker is None or maker.name != "log_softmax" or target.requires_grad:
            continue
        turned = scene.maker(target)
        if turned is not None and turned.name in NEGATIONS and turned.op.inputs:
            target = turned.op.inputs[0]
        return maker.op.inputs[0], target
    return first, second


def _iter_decided(
    scene: HazardContext,
) -> Iterator[tuple[tuple[str, object], OperatorCall]]:
    """Yield the places that make scores of which sigmoids meet a threshold."""
    for call in scene.calls:
        if call.name != "sigmoid" or not call.op.outputs or call.op.span is None:
            continue
        fact = call.op.outputs[0]
        for _ in range(FARTHEST):
            users = scene.users.get(fact.tensor, ())
            if any(u.name in THRESHOLDS and len(u.op.inputs) == 1 for u in users):
                place = _get_maker(scene, call.op.inputs[0])
                if place is not None and call.shape[-1] > 1:
                    yield place, call
                break
            onward = [u for u in users if u.name in ("cpu", "detach", "to", "[]")]
            if not onward:
                break
            fact = onward[0].op.outputs[0]


def _get_maker(scene: HazardContext, fact: Fact) -> tuple[str, object] | None:
    """Return the module and the line of the call that made scores."""
    maker = scene.maker(find_base(scene, fact))
    if maker is None or maker.op.span is None or not maker.op.module:
        return None
    is_layer = scene.program.layer(maker.op) is not None
    return maker.op.module, "" if is_layer else maker.op.span


def _is_mixed(scene: HazardContext, target: Fact) -> bool:
    """Return whether a target is made of probabilities or of classes."""
    calls = find_ancestors(scene, target, 24).values()
    return any(call.name in SOFT for call in calls)
