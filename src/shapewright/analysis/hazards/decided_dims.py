"""Find classes that are decided, or read by a loss, along another dim than their
softmax ran along, and choices without a dim that meet the classes of samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.class_labels import EQUALITY
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import (
    LINEAR,
    PASSING,
    find_value_maker,
)
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import (
    find_reduced_dims,
    find_softmax_dim,
)
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact

SOFTMAXES = frozenset({"softmax", "log_softmax"})
FARTHEST = 4
"""Calls between a softmax and the choice."""


def _find_other_dims_of_scores(scene: HazardContext) -> Iterator[Finding]:
    """Find `argmax(1)` of scores that a layer has in the last dim of three, whose loss
    reads them there.
    """
    classes = {
        maker.op.module: call.op.inputs[0].shape[-1]
        for call in scene.calls
        if call.name in CLASS_LOSSES and call.op.inputs and call.op.inputs[0].ndim == 2
        if (maker := find_value_maker(scene, call.op.inputs[0])) is not None
        if maker.name in LINEAR and maker.op.outputs[0].ndim == len("BTV")
    }
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in CHOICES or call.op.span in seen or not call.op.inputs:
            continue
        fact = call.op.inputs[0]
        maker = find_value_maker(scene, fact)
        gone = find_reduced_dims(call)
        if maker is None or fact.ndim != len("BTV") or gone is None or len(gone) != 1:
            continue
        at, size = gone[0] % fact.ndim, classes.get(maker.op.module)
        if at == 1 and size == fact.shape[-1] != fact.shape[1]:
            seen.add(call.op.span)
            yield scene.finding(
                WRONG_AXIS,
                call.op,
                f"the class is chosen along dim 1 of {format_shape(fact)}, its"
                f" {fact.shape[1]} steps: the scores of the {size} classes are in dim"
                " 2, where the loss reads them",
                (maker.op, "the scores are made here"),
            )


CLASS_LOSSES = operators_with("takes_class_indices")
CHOICES = frozenset({"argmax", "max"})
READERS = CLASS_LOSSES & {
    name
    for name, values in values_of("expects_input").items()
    if values == "log-probabilities"
}
"""Losses of class numbers that read the log-probabilities of the classes."""


def find_decided_dims(scene: HazardContext) -> Iterator[Finding]:
    """Find `argmax(1)` of `softmax(scores, dim=-1)` of several dims, such as (samples,
    classes, steps): the probabilities are of another dim.
    """
    yield from _find_other_dims_of_scores(scene)
    yield from _find_dims_of_losses(scene)
    yield from _find_dims_beside_losses(scene)
    yield from _find_choices_of_all(scene)
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SOFTMAXES or call.op.span in seen:
            continue
        fact = call.op.outputs[0]
        along = find_softmax_dim(call)
        if along is None or fact.ndim < 3 or not scene.in_user_code(call.op):
            continue
        along %= fact.ndim
        for _ in range(FARTHEST):
            users = scene.users.get(fact.tensor, [])
            chosen = next((user for user in users if user.name == "argmax"), None)
            gone = find_reduced_dims(chosen) if chosen is not None else None
            if chosen is not None and gone is not None and len(gone) == 1:
                at = gone[0] % fact.ndim
                if at != along and fact.shape[at] > 1 < fact.shape[along]:
                    seen.add(call.op.span)
                    yield scene.finding(
                        WRONG_AXIS,
                        call.op,
                        f"{scene.operation(call.op)} of {format_shape(fact)} runs along"
                        f" dim {along}, and the class is chosen along dim {at}: the"
                        " probabilities are not those of the classes",
                        (chosen.op, "the class is chosen here"),
                    )
                break
            onward = [u for u in users if u.name in PASSING and u.op.outputs]
            if not onward or onward[0].op.outputs[0].shape != fact.shape:
                break
            fact = onward[0].op.outputs[0]


def find_loss_of_other_dim(
    scene: HazardContext, call: OperatorCall
) -> OperatorCall | None:
    """Return the loss that reads the classes of a softmax along another dim than it
    runs along, or None.

    Example: ``F.nll_loss(scores.log_softmax(0), labels)``. Where the dims have one
    size, as a table of all pairs has, either may count the classes.
    """
    along = find_softmax_dim(call) if call.dims and call.op.outputs else None
    shape = call.op.outputs[0].shape if along is not None else ()
    if call.name not in SOFTMAXES or len(shape) < 2 or along == 1:
        return None
    if shape[1] < 2 or shape[along or 0] in (1, shape[1]):
        return None
    fact = call.op.outputs[0]
    for _ in range(FARTHEST):
        users = scene.users.get(fact.tensor, [])
        for user in users:
            if user.name in READERS and user.op.inputs[0].tensor == fact.tensor:
                return user
        onward = [user for user in users if _is_passed_on(user, fact)]
        if not onward:
            return None
        fact = onward[0].op.outputs[0]
    return None


def _is_passed_on(call: OperatorCall, fact: Fact) -> bool:
    """Return whether a call returns the elements of a tensor in the same dims."""
    return (
        call.name in SAME
        and len(call.op.inputs) == 1
        and bool(call.op.outputs)
        and call.op.outputs[0].shape == fact.shape
    )


SAME = operators_with("copies_if_needed", "moves_device", "leaves_graph") | {"log"}
"""Calls behind which each element is at its place."""


def _find_dims_of_losses(scene: HazardContext) -> Iterator[Finding]:
    """Find `nll_loss(scores.log_softmax(-1), labels)` of (samples, classes, steps)."""
    seen: set[object] = set()
    for call in scene.calls:
        loss = find_loss_of_other_dim(scene, call)
        along = find_softmax_dim(call) if loss is not None else None
        if loss is None or along is None or call.op.span in seen:
            continue
        if scene.model and scene.is_batch(call.dims[0][along]):
            continue  # a softmax over the samples is told as such
        seen.add(call.op.span)
        fact = call.op.inputs[0]
        yield scene.finding(
            WRONG_AXIS,
            call.op,
            f"{scene.operation(call.op)} of {format_shape(fact)} runs along dim"
            f" {along}, and `{loss.name}` reads the {fact.shape[1]} classes along"
            " dim 1",
            (loss.op, "the loss reads the classes here"),
        )


def _find_dims_beside_losses(scene: HazardContext) -> Iterator[Finding]:
    """Find `scores.softmax(-1)` of maps, (samples, classes, height, width), whose
    classes a loss reads along dim 1.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SOFTMAXES or call.op.span in seen or not call.op.inputs:
            continue
        fact, along = call.op.inputs[0], find_softmax_dim(call)
        if along is None or fact.ndim < len("NCHW") or along % fact.ndim < 2:
            continue
        loss = next(
            (
                user
                for user in scene.users.get(fact.tensor, ())
                if user.name in CLASS_LOSSES
                and user.op.inputs[0].tensor == fact.tensor
                and not user.op.inputs[1].dtype.startswith("float")
            ),
            None,
        )
        if loss is None or not scene.in_user_code(call.op):
            continue
        seen.add(call.op.span)
        yield scene.finding(
            WRONG_AXIS,
            call.op,
            f"{scene.operation(call.op)} of {format_shape(fact)} runs along dim"
            f" {along % fact.ndim}, and `{loss.name}` reads the {fact.shape[1]} classes"
            " along dim 1",
            (loss.op, "the loss reads the classes here"),
        )


def _find_choices_of_all(scene: HazardContext) -> Iterator[Finding]:
    """Find `scores.argmax() == labels`: without `dim` there is one index for all the
    samples, and it counts the elements of all their scores.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in EQUALITY or len(call.op.inputs) != 2:
            continue
        for at in (0, 1):
            labels = call.op.inputs[1 - at]
            choice = _find_choice(scene, call.op.inputs[at])
            if choice is None or choice.op.span in seen or not _is_integer(labels):
                continue
            fact = choice.op.inputs[0]
            dim = _find_dim_of_classes(fact.shape, labels.shape)
            if dim is None:
                continue
            seen.add(choice.op.span)
            name = scene.names(call.op)[1 - at]
            yield scene.finding(
                WRONG_AXIS,
                choice.op,
                f"{scene.operation(choice.op)} of {format_shape(fact)} without `dim`"
                f" gives one index into all {fact.numel} elements, which meets the"
                f" {labels.numel} of {name}: a choice for each runs along dim {dim}",
                (call.op, "they are compared here"),
            )


def _is_integer(fact: Fact) -> bool:
    return fact.dtype.startswith("int") and bool(fact.shape)


def _find_choice(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the `argmax` without a dim that made a number, or None."""
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if fact.shape or maker is None or not maker.op.inputs:
            return None
        if maker.name in CHOICES - VALUES:
            is_of_all = find_reduced_dims(maker) == tuple(range(len(maker.dims[0])))
            return maker if is_of_all and maker.op.inputs[0].ndim > 1 else None
        if maker.name not in SAME:
            return None
        fact = maker.op.inputs[0]
    return None


VALUES = operators_with("returns_values_and_indices")


def _find_dim_of_classes(
    scores: tuple[int, ...], labels: tuple[int, ...]
) -> int | None:
    """Return the dim of scores without which they have the dims of the labels of
    several samples, the last if several dims do; or None.
    """
    if scores[0] < 2 or labels[0] != scores[0]:
        return None
    for at in range(len(scores) - 1, 0, -1):
        if scores[:at] + scores[at + 1 :] == labels and scores[at] > 1:
            return at
    return None
