"""Find losses that get probabilities where they expect logits, or the reverse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.distribution_inputs import (
    find_logarithms_as_deviations,
    find_scores_as_probabilities,
    find_scores_as_weights,
)
from shapewright.analysis.hazards.label_smoothing import find_smoothed_labels
from shapewright.analysis.hazards.normalized_targets import find_normalized_targets
from shapewright.analysis.hazards.overlap_losses import find_overlaps_of_logits
from shapewright.analysis.hazards.repeated_activations import (
    find_repeated_activations,
)
from shapewright.analysis.hazards.value_makers import (
    ACTIVATIONS,
    FARTHEST,
    LINEAR,
    find_mixed_probabilities,
    find_value_maker,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import LOSS_INPUT, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact, Op

EXPECTED = values_of("expects_input")
"""What a loss expects: logits, probabilities or log-probabilities."""
HALVED = frozenset({"probabilities", "log-probabilities"})
"""What a sigmoid makes of numbers of which none is negative: one half and more."""
DIVISIONS = operators_with("divides_elements")
SHIFTING = operators_with("adds_terms", "clamps") | {"clamp_min", "clamp_"}
"""What keeps a sum away from zero."""
REARRANGING = operators_with("is_view", "copies_if_needed")
LARGEST_EPSILON = 1e-2
ASYMMETRIC = ("logits", "probabilities")
"""What losses expect of which a target and a prediction are not the same."""


@dataclass(frozen=True, slots=True)
class _LossInput:
    """The input of a loss: the call that made it, and what it is and should be.

    `expected` is empty where it is a sigmoid or a softmax of a `relu`: then `given` is
    the name of that function.
    """

    loss: Op
    maker: Op
    given: str
    expected: str


def _iter_loss_inputs(scene: HazardContext) -> Iterator[_LossInput]:
    """Yield the losses whose input is of another kind than they expect."""
    for call in scene.calls:
        expected = EXPECTED.get(call.name)
        if expected is None or not call.op.inputs or call.op.span is None:
            continue
        maker = find_value_maker(scene, call.op.inputs[0])
        if maker is None:
            continue
        if expected == "log-probabilities":
            maker = _strip_epsilon(scene, maker)
        mixed = find_mixed_probabilities(scene, maker)
        maker = mixed or maker
        kind = ACTIVATIONS.get(maker.name)
        if kind is None and maker.name in LINEAR:
            kind = "logits"
        if expected == "log-probabilities" and _is_divided_by_own_sum(scene, maker):
            kind = "probabilities"
        if maker.name in ("exp", "exp_") and _is_logarithm(scene, maker):
            kind = "probabilities"
        if kind is not None and kind != expected:
            yield _LossInput(call.op, maker.op, kind, expected)
        elif kind in HALVED:
            before = find_value_maker(scene, maker.op.inputs[0])
            if before is not None and before.name in ("relu", "relu_"):
                yield _LossInput(call.op, before.op, maker.name, "")


def _is_logarithm(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call gets log-probabilities."""
    before = find_value_maker(scene, call.op.inputs[0])
    return before is not None and ACTIVATIONS.get(before.name) == "log-probabilities"


def _strip_epsilon(scene: HazardContext, maker: OperatorCall) -> OperatorCall:
    """Return the call that made what a small number is added to; else the call."""
    number = maker.arguments.get("1", maker.arguments.get("0"))
    small = isinstance(number, float) and 0 < number < LARGEST_EPSILON
    if maker.name in SHIFTING and len(maker.op.inputs) == 1 and small:
        return find_value_maker(scene, maker.op.inputs[0]) or maker
    return maker


def _is_divided_by_own_sum(scene: HazardContext, maker: OperatorCall) -> bool:
    """Return whether a call divides a tensor by its sum, as a softmax by hand does.

    A number below may stand beside the sum, or bound it from below.
    """
    if maker.name not in DIVISIONS or len(maker.op.inputs) != 2:
        return False
    total = find_value_maker(scene, maker.op.inputs[1])
    for _ in range(FARTHEST):
        if total is None or total.name not in SHIFTING or len(total.op.inputs) != 1:
            break
        total = find_value_maker(scene, total.op.inputs[0])
    if total is None or total.name != "sum":
        return False
    whole = _find_base(scene, total.op.inputs[0])
    part = _find_base(scene, maker.op.inputs[0])
    return whole.tensor == part.tensor or _is_computed_alike(scene, whole, part)


def _is_computed_alike(scene: HazardContext, first: Fact, other: Fact) -> bool:
    """Return whether two tensors are results of equal calls: `x.exp()`, twice."""
    makers = [scene.maker(first), scene.maker(other)]
    keys = [
        (maker.op.name, maker.op.arguments, [f.tensor for f in maker.op.inputs])
        for maker in makers
        if maker is not None and maker.op.inputs
    ]
    return len(keys) == 2 and keys[0] == keys[1]


def _find_base(scene: HazardContext, fact: Fact) -> Fact:
    """Return the tensor of which a tensor is a view."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or maker.name not in REARRANGING or not maker.op.inputs:
            break
        fact = maker.op.inputs[0]
    return fact


def _find_swapped_arguments(scene: HazardContext) -> Iterator[Finding]:
    """Find losses whose first argument has no graph and whose second one has: torch
    takes the prediction first.
    """
    seen: set[object] = set()
    for call in scene.calls:
        inputs = call.op.inputs[:2]
        if EXPECTED.get(call.name) not in ASYMMETRIC or len(inputs) < 2:
            continue
        if inputs[0].requires_grad or not inputs[1].requires_grad:
            continue
        if call.op.span is None or call.op.span in seen:
            continue
        seen.add(call.op.span)
        names = scene.names(call.op)
        message = (
            f"{scene.operation(call.op)} takes the prediction first and the target"
            f" second: {names[0]} is data, and {names[1]} is what the model computed"
        )
        yield scene.finding(LOSS_INPUT, call.op, message)


def _find_targets_of_divergences(scene: HazardContext) -> Iterator[Finding]:
    """Find targets of `kl_div` that are no probabilities: their logarithms without
    `log_target=True`, or logits.
    """
    for call in scene.calls:
        if call.name != "kl_div" or len(call.op.inputs) < 2 or call.op.span is None:
            continue
        maker = find_value_maker(scene, call.op.inputs[1])
        kind = ACTIVATIONS.get(maker.name) if maker is not None else None
        if maker is not None and maker.name in LINEAR:
            kind = "logits"
        is_wrong = kind in ("logits", "log-probabilities")
        if maker is None or not is_wrong or call.arguments.get("log_target"):
            continue
        name = scene.names(call.op)[1].rsplit(" (", 1)[0]
        line = f" at line {maker.op.span.line}" if maker.op.span is not None else ""
        message = (
            f"{scene.operation(call.op)} expects probabilities as its target, but"
            f" {name} holds {kind} of `{maker.name}`{line}"
        )
        yield scene.finding(
            LOSS_INPUT, call.op, message, (maker.op, f"{kind} are made here")
        )


@looks_for(LOSS_INPUT)
def find_loss_inputs(scene: HazardContext) -> Iterator[Finding]:
    """Find losses of probabilities where logits belong, and the reverse; the prediction
    in the place of the target.
    """
    yield from _find_swapped_arguments(scene)
    yield from find_normalized_targets(scene)
    yield from find_smoothed_labels(scene)
    yield from _find_targets_of_divergences(scene)
    yield from find_overlaps_of_logits(scene)
    reported: set[int] = set()
    for loss_input in _iter_loss_inputs(scene):
        reported.add(loss_input.maker.index)
        name = scene.names(loss_input.loss)[0].rsplit(" (", 1)[0]
        loss = scene.operation(loss_input.loss)
        activation = loss_input.maker.name.rpartition(".")[2]
        line = f" at line {loss_input.maker.span.line}" if loss_input.maker.span else ""
        message = (
            f"{loss} expects {loss_input.expected}, but {name} holds {loss_input.given}"
        )
        how = (
            "a division by its own sum"
            if activation in DIVISIONS
            else f"`{activation}`"
        )
        message += f" of {how}{line}"
        if not loss_input.expected:
            message = f"{loss} of {name}: the `{loss_input.given}` of a `relu`{line}"
            message += (
                " is never below 0.5"
                if loss_input.given == "sigmoid"
                else " has no score below 0, so that no class can be ruled out"
            )
        if loss_input.given == "log-probabilities" and loss_input.expected == "logits":
            message = (
                f"{loss} applies log-softmax, and `{activation}`{line} has applied it"
            )
            message += f" to {name} already"
        label = (
            f"{loss_input.given} are made here"
            if loss_input.expected
            else "no number below 0"
        )
        yield scene.finding(
            LOSS_INPUT, loss_input.loss, message, (loss_input.maker, label)
        )
    yield from find_repeated_activations(scene, reported)
    yield from find_scores_as_probabilities(scene)
    yield from find_scores_as_weights(scene)
    yield from find_logarithms_as_deviations(scene)
