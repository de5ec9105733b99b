"""Find critics and generators that push the scores of generated samples the same way:
`C(fake).mean() - C(real).mean()` beside a generator that minimizes `C(fake).mean()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.idle_hinges import RAMPS
from shapewright.analysis.hazards.loss_terms import (
    find_ancestors,
    find_base,
    find_terms,
    iter_losses,
)
from shapewright.findings.codes import ADVERSARIAL_LABELS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, ModuleCall, collect_leaves

INCREASING = RAMPS | operators_with("limits_from_below") | {"softplus"}
NEAREST = 64
"""Calls from what a critic read back to what made it."""


@dataclass(frozen=True, slots=True)
class _Score:
    """A score of a critic in a loss: which way the loss moves it, of what."""

    judge: str
    sign: int
    is_made: bool
    has_graph: bool
    fact: Fact


def find_adversarial_signs(scene: HazardContext) -> Iterator[Finding]:
    """Find a loss of a generator that moves the scores as that of its critic does."""
    calls = {
        fact.tensor: call
        for call in scene.program.trace.calls
        if call.path and "." not in call.path
        for fact in collect_leaves(call.output)[:1]
    }
    taught: dict[str, tuple[_Score, _Score]] = {}
    seen: set[object] = {None}
    for loss in iter_losses(scene):
        scores = _list_scores(scene, loss, calls) if loss.requires_grad else []
        generated = [score for score in scores if score.is_made]
        real = [score for score in scores if not score.is_made]
        if len(generated) == len(real) == 1 and generated[0].judge == real[0].judge:
            if generated[0].sign != real[0].sign:
                taught[generated[0].judge] = (generated[0], real[0])
            continue
        for score in generated if not real else ():
            if score.judge not in taught or not score.has_graph:
                continue
            first = taught[score.judge][0]
            maker, other = scene.maker(score.fact), scene.maker(first.fact)
            if first.sign != score.sign or maker is None or other is None:
                continue
            if maker.op.span in seen:
                continue
            seen.add(maker.op.span)
            way = "lowers" if score.sign > 0 else "raises"
            message = (
                f"this loss {way} the scores that `{score.judge}` gives to what is"
                f" generated, and so does the loss of `{score.judge}` itself: the two"
                " are to pull apart"
            )
            call = calls[score.fact.tensor]
            own = scene.program.op_at(call.span) or maker.op
            yield scene.finding(
                ADVERSARIAL_LABELS, own, message, (other.op, "its own loss reads this")
            )


def _list_scores(
    scene: HazardContext, loss: Fact, calls: dict[int, ModuleCall]
) -> list[_Score]:
    """Return the scores of critics that a loss adds up, with their signs."""
    scores: list[_Score] = []
    waiting = [(term.fact, term.factor) for term in find_terms(scene, loss)]
    for fact, factor in waiting[:8]:
        base = find_base(scene, fact)
        maker = scene.maker(base)
        if maker is not None and maker.name in INCREASING and base.tensor not in calls:
            inner = find_terms(scene, maker.op.inputs[0])
            if len(inner) == 1:
                base = find_base(scene, inner[0].fact)
                factor *= inner[0].factor
        call = calls.get(base.tensor)
        read = collect_leaves(call.inputs[0])[:1] if call is not None else []
        if call is None or not read or not factor:
            return []
        roots = {
            other.op.module.partition(".")[0]
            for other in find_ancestors(scene, read[0], NEAREST).values()
            if other.op.module
        }
        is_made = bool(roots - {call.path})
        sign = 1 if factor > 0 else -1
        score = _Score(call.path, sign, is_made, read[0].requires_grad, base)
        scores.append(score)
    return scores
