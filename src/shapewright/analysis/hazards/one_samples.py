"""One sample with a whole batch, which was likely not meant.

Torch broadcasts `(C, H, W)` with `(N, C, H, W)`, and warns of it in some losses,
whether it is meant or not. A sample against a batch is reported only if it was taken
out of that batch, if both sides had equal length in every batch but the last, or if a
target that was computed has no batch dim.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.broadcasting import (
    DIFFERENCES,
    WARNING_LOSSES,
    is_sample,
)
from shapewright.analysis.hazards.context import (
    ARITHMETIC,
    LOSSES,
    HazardContext,
)
from shapewright.analysis.hazards.first_samples import find_first_samples
from shapewright.analysis.provenance.axes import Axis, Dims
from shapewright.analysis.provenance.axis_flow import KEEPS, OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import (
    ONE_SAMPLE,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Op

LAYERS = operators_with("gives_logits", "is_convolution")


FARTHEST = 8
"""Calls on the way from an index to the loss."""


@looks_for(ONE_SAMPLE)
def find_one_samples(scene: HazardContext) -> Iterator[Finding]:
    """Find losses between one sample and many, calls that combine a batch of 1 with a
    larger batch, and accuracies of first samples.
    """
    yield from find_first_samples(scene.program)
    alike: dict[object, set[int]] = {}
    for call in scene.calls:
        op = call.op
        loss = call.name in LOSSES
        if not (loss or call.name in ARITHMETIC) or len(op.inputs) < 2:
            continue
        left_shape, right_shape = op.inputs[0].shape, op.inputs[1].shape
        if op.span is None or not left_shape or not right_shape:
            continue
        if left_shape == right_shape:
            alike.setdefault(op.span, set()).add(left_shape[0])
        elif left_shape[1:] == right_shape[1:] and 1 in (left_shape[0], right_shape[0]):
            many = max(left_shape[0], right_shape[0])
            if {1, many} <= set(scene.flow.samples) and many in alike.get(op.span, ()):
                yield _report_last_batch(scene, call, many)
        elif loss or _is_of_graph(call):
            pick = _find_pick(scene, call)
            if pick is not None and (loss or _is_of_other_data(op, *pick)):
                yield _report_pick(scene, call, *pick)
            elif pick is None and call.name in WARNING_LOSSES:
                yield from _report_single_target(scene, call)


def _is_of_graph(call: OperatorCall) -> bool:
    """Return whether a difference or product takes what is trained and what is not."""
    trained = [fact.requires_grad for fact in call.op.inputs[:2]]
    return call.name in COMPARING and sorted(trained) == [False, True]


def _is_of_other_data(op: Op, at: int, batch: Axis, index: Op) -> bool:
    """Return whether a sample was taken out of another tensor than it meets."""
    single, whole = op.inputs[at], op.inputs[1 - at]
    is_predicted = single.requires_grad and op.name.rpartition(".")[2] in DIFFERENCES
    is_predicted = is_predicted and not whole.requires_grad and single.ndim > 1
    is_data = not single.requires_grad
    return (is_data or is_predicted) and index.inputs[0].storage != whole.storage


def _report_single_target(
    scene: HazardContext, call: OperatorCall
) -> Iterator[Finding]:
    """Yield the finding for a loss between a batch of predictions and a target without
    a batch dim.
    """
    prediction, target = call.op.inputs[:2]
    if prediction.shape[1:] != target.shape or target.ndim < 2 or target.requires_grad:
        return
    count = prediction.shape[0]
    is_batch = any(
        layer.name in LAYERS
        and layer.op.inputs[0].ndim == prediction.ndim
        and layer.op.inputs[0].shape[0] == count
        for layer in scene.calls
        if layer.op.index < call.op.index and layer.op.inputs
    )
    if count < 2 or not is_batch:
        return
    names = scene.names(call.op)
    maker = scene.program.producers.get(target.tensor)
    if maker is None or any(
        source.shape[:1] == prediction.shape[:1] and source.ndim == prediction.ndim
        for source in maker.inputs
    ):
        return  # one target for all, or made of the whole batch, as its mean is
    yield scene.finding(
        ONE_SAMPLE,
        call.op,
        f"{scene.operation(call.op)} of {names[0]} and {names[1]} compares each of the"
        f" {count} predictions with one target, which has no batch dim",
        (maker, f"{names[1]} was made here"),
    )


COMPARING = DIFFERENCES | {"*", "mul", "multiply"}


def _find_pick(scene: HazardContext, call: OperatorCall) -> tuple[int, Axis, Op] | None:
    """Return which input is one sample of the other's batch, with the batch axis and
    the index op, or None.
    """
    for at in (0, 1):
        single, batch = call.dims[at], call.dims[1 - at]
        shape = call.op.inputs[at].shape
        if (
            len(single) >= len(batch)
            or shape != call.op.inputs[1 - at].shape[-len(shape) :]
        ):
            continue
        back = len(batch) - len(single)
        if back != 1 or not is_sample(scene, batch[0]):
            continue
        index = _find_index(scene, call, at, batch[0][0])
        if index is not None:
            return at, batch[0][0], index
    return None


def _find_index(
    scene: HazardContext, call: OperatorCall, at: int, batch: Axis
) -> Op | None:
    """Return the index op that took one sample of a batch for an input of a call, or
    None.
    """
    maker = scene.maker(call.op.inputs[at])
    for _ in range(FARTHEST):
        if maker is None or not maker.op.inputs:
            return None
        if _is_sample_pick(maker, maker.dims[0], batch):
            return maker.op
        if maker.name not in KEEPS:
            return None
        maker = scene.maker(maker.op.inputs[0])
    return None


def _is_sample_pick(call: OperatorCall, dims: Dims, batch: Axis) -> bool:
    """Return whether a call takes a single sample: `x[0]`, `x.select(0, 0)`."""
    if not dims or len(dims[0]) != 1 or dims[0][0].root is not batch.root:
        return False
    if call.name == "select":
        return bool(call.given(1, "dim") == 0)
    items = get_items(call) if call.name == "[]" else None
    return items is not None and type(items[0]) is int


def _report_pick(
    scene: HazardContext, call: OperatorCall, at: int, batch: Axis, index: Op
) -> Finding:
    names = scene.names(call.op)
    message = (
        f"{scene.operation(call.op)} of {names[0]} and {names[1]} compares one sample"
        f" with each of the {batch.size}"
    )
    return scene.finding(
        ONE_SAMPLE,
        call.op,
        message,
        (index, "one sample of the batch is taken here"),
        (
            scene.program.producers.get(call.op.inputs[1 - at].tensor),
            f"{names[1 - at]} was made here",
        ),
    )


def _report_last_batch(scene: HazardContext, call: OperatorCall, many: int) -> Finding:
    names = scene.names(call.op)
    message = (
        f"{scene.operation(call.op)} of {names[0]} and {names[1]} broadcasts a batch of"
        f" one sample to {many}; in other batches both sides have the same number"
    )
    longer = call.op.inputs[0 if call.op.inputs[0].shape[0] == many else 1]
    maker = scene.program.producers.get(longer.tensor)
    return scene.finding(
        ONE_SAMPLE,
        call.op,
        message,
        (maker, f"{many} are made here, for every batch"),
    )
