"""Find adversarial losses with the labels of the other side: a discriminator that is
taught one answer for real and generated data, a generator that is taught to be found
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.adversarial_signs import find_adversarial_signs
from shapewright.analysis.hazards.context import LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    find_ancestors,
    find_base,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import ADVERSARIAL_LABELS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, ModuleCall, collect_leaves

CONSTANTS = {"ones": 1.0, "zeros": 0.0}
"""Makers of tensors of one number, by the word in their names."""
FILLS = frozenset({"fill_", "zero_"})
DETACHING = operators_with("leaves_graph")
MOST = 300
"""Calls from a prediction back to what the discriminator read."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A loss of what a discriminator says, with the label that it should give.

    `read` is what it read as its argument number `place`; `is_real` says that no model
    made this, `is_fixed` that it was cut off from the model that made it.
    """

    call: OperatorCall
    judge: str
    place: int
    read: Fact
    label: float
    is_real: bool
    is_fixed: bool


@looks_for(ADVERSARIAL_LABELS)
def find_adversarial_labels(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of a discriminator and of its generator with the wrong label."""
    yield from find_adversarial_signs(scene)
    by_judge: dict[tuple[str, int], dict[object, Verdict]] = {}
    for verdict in iter_verdicts(scene):
        places = by_judge.setdefault((verdict.judge, verdict.place), {})
        places.setdefault(verdict.call.op.span, verdict)
    for places in by_judge.values():
        verdicts = list(places.values())
        real = [verdict for verdict in verdicts if verdict.is_real]
        generated = [verdict for verdict in verdicts if not verdict.is_real]
        labels = {verdict.label for verdict in generated}
        if len({verdict.label for verdict in real}) != 1 or not generated:
            continue
        fixed = [verdict for verdict in generated if verdict.is_fixed]
        if fixed and {verdict.label for verdict in fixed} == {real[0].label}:
            yield _report_one_answer(scene, real[0], fixed[0])
        elif len(generated) > 1 and len(labels) == 1:
            if generated[0].label == real[0].label:
                yield _report_one_answer(scene, real[0], generated[0])
            else:
                yield _report_found_out(scene, real[0], generated)


def _report_one_answer(
    scene: HazardContext, real: Verdict, generated: Verdict
) -> Finding:
    name = scene.words(generated.call.op)[1]
    message = (
        f"`{generated.judge}` is taught {real.label:g} for real data, and {name}, which"
        " is the same, for generated ones: it learns nothing that tells them apart"
    )
    place = (real.call.op, "the loss of real data")
    return scene.finding(ADVERSARIAL_LABELS, generated.call.op, message, place)


def _report_found_out(
    scene: HazardContext, real: Verdict, generated: list[Verdict]
) -> Finding:
    first, last = generated[0], generated[-1]
    name = scene.words(last.call.op)[1]
    message = (
        f"the generator is taught {name}, {last.label:g}, the answer of"
        f" `{last.judge}` for generated data: it learns to be found out, and"
        f" {real.label:g} is the answer for real ones"
    )
    return scene.finding(
        ADVERSARIAL_LABELS,
        last.call.op,
        message,
        (real.call.op, "the loss of real data"),
        (first.call.op, "generated data have this label already"),
    )


def iter_verdicts(scene: HazardContext) -> Iterator[Verdict]:
    """Yield the losses between what a module says and a label of one number."""
    for call in scene.calls:
        if call.name not in LOSSES or len(call.op.inputs) < 2 or call.op.span is None:
            continue
        label = _find_number(scene, call.op.inputs[1], call.op.index)
        judge = _find_judge(scene, call.op.inputs[0]) if label is not None else None
        if label is None or judge is None:
            continue
        for place, leaf in enumerate(collect_leaves(judge.inputs)):
            if isinstance(leaf, Fact) and leaf.shape:
                yield from _iter_readings(scene, call, judge, label, place, leaf)


def _iter_readings(
    scene: HazardContext,
    call: OperatorCall,
    judge: ModuleCall,
    label: float,
    place: int,
    read: Fact,
) -> Iterator[Verdict]:
    """Yield the verdict on one argument of a discriminator, unless it made that."""
    makers = find_ancestors(scene, read, MOST).values()
    modules = {maker.op.module.partition(".")[0] for maker in makers}
    root = judge.path.partition(".")[0]
    if root in modules:
        return
    is_fixed = not read.requires_grad or any(
        maker.name in DETACHING for maker in makers
    )
    is_real = not modules - {""}
    yield Verdict(call, root, place, read, label, is_real, is_fixed)


def _find_judge(scene: HazardContext, verdict: Fact) -> ModuleCall | None:
    """Return the call of the outermost module that made a prediction."""
    for maker in find_ancestors(scene, verdict, 8).values():
        if not maker.op.module:
            continue
        root = maker.op.module.partition(".")[0]
        for call in scene.program.trace.calls:
            first, last = call.ops
            if call.path == root and first <= maker.op.index < last:
                return call
        return None
    return None


def _find_number(scene: HazardContext, fact: Fact, before: int) -> float | None:
    """Return the number of which all elements of a label are, as the loss reads it."""
    factor = 1.0
    for _ in range(8):
        fact = find_base(scene, fact)
        written = [
            user
            for user in scene.users.get(fact.tensor, ())
            if user.op.kind == "inplace" and user.op.index < before
        ]
        if written:
            number = written[-1].given(1) if written[-1].name == "fill_" else None
            number = 0.0 if written[-1].name == "zero_" else number
            return _get_product(number, factor)
        maker = scene.maker(fact)
        if maker is None:
            return None
        for word, value in CONSTANTS.items():
            if maker.name in (word, f"{word}_like", f"new_{word}"):
                return value * factor
        if maker.name.removeprefix("new_").startswith("full"):
            number = maker.given(1, "fill_value")
            return _get_product(number, factor)
        if maker.name not in PRODUCTS or len(maker.op.inputs) != 1:
            return None
        number = maker.given(1, "other", default=maker.given(0))
        if not isinstance(number, int | float):
            return None
        factor, fact = factor * number, maker.op.inputs[0]
    return None


def _get_product(number: object, factor: float) -> float | None:
    return float(number) * factor if isinstance(number, int | float) else None
