"""Find losses that pull two branches of one network together and nothing apart.

With a predictor on one side, as in SimSiam and BYOL, the other side is a target, and
only the missing gradient keeps a constant output from being the best one. Where the
loss has any other term, that may keep the outputs apart, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    find_ancestors,
    find_base,
    find_terms,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import TEACHER_WITH_GRAPH
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

PULLS = operators_with("pulls_together")
NORMS = frozenset({"normalize"})
DEPTH = 20
"""Calls of a predictor, backwards from its output."""


def find_pulled_targets(scene: HazardContext) -> Iterator[Finding]:
    """Find targets of a predictor that carry a graph, in a loss of nothing else."""
    seen: set[object] = set()
    for loss in iter_losses(scene):
        terms = [term for term in find_terms(scene, loss) if term.fact.requires_grad]
        pulls = [scene.maker(term.fact) for term in terms]
        sides = [_find_target(scene, call) for call in pulls]
        if not terms or None in sides:
            continue
        for call, at in zip(pulls, sides, strict=True):
            if call is None or at is None or call.op.span in seen:
                continue
            seen.add(call.op.span)
            yield _report(scene, call, at)


def _find_target(scene: HazardContext, call: OperatorCall | None) -> int | None:
    """Return which operand is the output of an encoder whose other output a predictor
    turned into the other operand; None if neither is.
    """
    if call is None or call.op.span is None or len(call.op.inputs) != 2:
        return None
    first, second = call.op.inputs
    if first.shape != second.shape or not (
        first.requires_grad and second.requires_grad
    ):
        return None
    if call.name not in PULLS and not _is_cosine(scene, call):
        return None
    for at, target in enumerate((first, second)):
        maker = scene.maker(find_base(scene, target, NORMS))
        if maker is None or not maker.op.module:
            continue
        base = find_base(scene, call.op.inputs[1 - at], NORMS)
        if _is_predicted(scene, base, maker.op):
            return at
    return None


def _is_cosine(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call multiplies two normalized tensors."""
    makers = [scene.maker(fact) for fact in call.op.inputs]
    return call.name in PRODUCTS and all(m and m.name in NORMS for m in makers)


def _is_predicted(scene: HazardContext, fact: Fact, target: Op) -> bool:
    """Return whether a tensor follows from another call of what made the target, by
    layers of its own, and not from the target itself.
    """
    ancestors = find_ancestors(scene, fact, DEPTH)
    nearest = next(iter(ancestors.values()), None)
    if nearest is None or nearest.op.module == target.module:
        return False
    for call in ancestors.values():
        if call.op is target:
            return False
        alike = call.op.module == target.module and call.op.name == target.name
        if alike and call.op.index != target.index:
            return True
    return False


def _report(scene: HazardContext, call: OperatorCall, at: int) -> Finding:
    names = scene.words(call.op)
    message = (
        f"{names[at]} carries a graph, so this loss pulls both branches of one network"
        " towards each other, and nothing pulls them apart: a constant output is best"
    )
    return scene.finding(
        TEACHER_WITH_GRAPH,
        call.op,
        message,
        (call.op, f"{names[at]} is a target here: `detach()` it"),
    )
