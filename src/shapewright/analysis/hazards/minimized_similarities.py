"""Find losses that are a cosine similarity and nothing else: minimized, it turns two
views of a sample away from each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    find_ancestors,
    find_terms,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import MINIMIZED_OVERLAP
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

SIMILARITY = "cosine_similarity"
APART = re.compile(r"orth|divers|decorr|dissim|repel|negative|_neg|adversar", re.I)
"""Words of programs that mean to turn vectors away from each other."""
DETACHING = operators_with("leaves_graph")
NEAREST = 6


def find_minimized_similarities(scene: HazardContext) -> Iterator[Finding]:
    """Find `loss = F.cosine_similarity(p, z.detach()).mean()`."""
    if any(APART.search(text.text) for text in scene.program.own_texts()):
        return
    seen: set[object] = {None}
    for loss in iter_losses(scene):
        terms = find_terms(scene, loss)
        calls = [scene.maker(term.fact) for term in terms]
        known = [call for call in calls if call is not None]
        if not terms or len(known) < len(terms):
            continue
        if any(call.name != SIMILARITY for call in known):
            continue
        if any(term.factor <= 0 for term in terms):
            continue
        call = known[0]
        if call.op.span in seen or not _is_of_detached(scene, call):
            continue
        seen.add(call.op.span)
        first, second = scene.words(call.op)[:2]
        message = (
            f"the loss is the similarity of {first} and {second} and nothing else:"
            " minimized, it turns them away from each other; `-similarity` is meant"
        )
        yield scene.finding(MINIMIZED_OVERLAP, call.op, message)


def _is_of_detached(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether one of two vectors is a target, without its graph."""
    facts = call.op.inputs
    tracked = [fact for fact in facts if fact.requires_grad]
    if len(facts) != 2 or len(tracked) != 1:
        return False
    target = next(fact for fact in facts if not fact.requires_grad)
    makers = find_ancestors(scene, target, NEAREST).values()
    return any(maker.name in DETACHING for maker in makers)
