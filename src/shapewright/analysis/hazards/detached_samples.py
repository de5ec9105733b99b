"""Find adversarial terms of a generator's loss that read its samples without a graph:
they train nothing of the generator, which learns from the other terms alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapewright.analysis.hazards.adversarial_labels import (
    DETACHING,
    Verdict,
    iter_verdicts,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors, iter_losses
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import TERM_WITHOUT_GRAPH
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

MOST = 4_000
"""Calls of a loss that are followed."""
NEAREST = 64
"""Calls from what a discriminator read back to what took its graph away."""


def find_detached_samples(scene: HazardContext) -> Iterator[Finding]:
    """Find `loss = bce(D(fake.detach()), ones) + l1(fake, real)`, where `D` is taught
    another label for `fake` elsewhere.
    """
    by_judge: dict[tuple[str, int], list[Verdict]] = {}
    for verdict in iter_verdicts(scene):
        by_judge.setdefault((verdict.judge, verdict.place), []).append(verdict)
    for verdicts in by_judge.values():
        seen: set[object] = set()
        for verdict in _iter_detached(verdicts):
            cut = _find_cut(scene, verdict.read)
            if cut is None or cut.op.span is None or cut.op.span in seen:
                continue
            generator = _find_generator(scene, cut)
            if generator and _is_beside_graph(scene, verdict, generator):
                seen.add(cut.op.span)
                yield _report_detached(scene, verdict, cut, generator)


def _iter_detached(verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Yield the losses with the label of real data for samples without a graph, if
    other losses have another label for samples, and none of the first has a graph.
    """
    real = {verdict.label for verdict in verdicts if verdict.is_real}
    generated = [verdict for verdict in verdicts if not verdict.is_real]
    if len(real) != 1 or not generated:
        return
    answer = real.pop()
    farthest = max(abs(verdict.label - answer) for verdict in generated)
    praised = [v for v in generated if 2 * abs(v.label - answer) < farthest]
    if not any(verdict.read.requires_grad for verdict in praised):
        yield from praised


def _find_cut(scene: HazardContext, read: Fact) -> OperatorCall | None:
    """Return the call that took the graph of samples away."""
    for maker in find_ancestors(scene, read, NEAREST).values():
        is_cut = not any(fact.requires_grad for fact in maker.op.outputs)
        if maker.name in DETACHING and is_cut and maker.op.inputs[0].requires_grad:
            return maker
    return None


def _find_generator(scene: HazardContext, cut: OperatorCall) -> str:
    """Return the model that made what a call takes the graph of."""
    for maker in find_ancestors(scene, cut.op.inputs[0], NEAREST).values():
        if maker.op.module:
            return maker.op.module.partition(".")[0]
    return ""


def _is_beside_graph(scene: HazardContext, verdict: Verdict, generator: str) -> bool:
    """Return whether a loss of a discriminator is a term of one that trains the
    generator otherwise.
    """
    term = verdict.call.op.outputs[0].tensor
    for loss in iter_losses(scene):
        if loss.requires_grad and term in find_ancestors(scene, loss, MOST):
            return generator in _list_trained(scene, loss)
    return False


def _list_trained(scene: HazardContext, loss: Fact) -> set[str]:
    """Return the models through which the graph of a loss goes."""
    waiting, seen, models = [loss], {loss.tensor}, set[str]()
    while waiting and len(seen) < MOST:
        maker = scene.maker(waiting.pop())
        if maker is None:
            continue
        models.add(maker.op.module.partition(".")[0])
        more = [f for f in maker.op.inputs if f.requires_grad and f.tensor not in seen]
        seen |= {fact.tensor for fact in more}
        waiting += more
    return models


def _report_detached(
    scene: HazardContext, verdict: Verdict, cut: OperatorCall, generator: str
) -> Finding:
    name = scene.words(cut.op)[0]
    name = name if name.startswith("`") else "its samples"
    message = (
        f"`{verdict.judge}` reads {name} without a graph, for the label"
        f" {verdict.label:g} of real data: this term of the loss trains nothing of"
        f" `{generator}`, which learns from the other terms alone"
    )
    return scene.finding(
        TERM_WITHOUT_GRAPH,
        cut.op,
        message,
        (verdict.call.op, "the loss of what it says is computed here"),
    )
