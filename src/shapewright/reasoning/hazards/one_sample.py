"""One sample that a loss compares with every sample of a batch.

Torch broadcasts `(C, H, W)` with `(N, C, H, W)`, and warns of it in some losses,
whether it is meant or not. Here it is told where the run shows that it is not: one side
was taken out of the batch that the other counts, or both sides were as long as each
other in every batch but one of a single sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.axes.axis import Axis, Dims
from shapewright.reasoning.axes.flow import KEEPS, Call
from shapewright.reasoning.axes.moving import items_of
from shapewright.reasoning.hazards.outer_broadcast import is_sample
from shapewright.reasoning.hazards.pointwise import ARITHMETIC, LOSSES
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.trace.op import Op

FARTHEST = 8
"""Calls on the way from an index to the loss."""


@hazard("one-sample")
def one_samples(scene: Scene) -> Iterator[Finding]:
    """Losses of one sample with many, and calls in which a batch of one meets more."""
    alike: dict[object, set[int]] = {}
    for call in scene.calls:
        op = call.op
        loss = call.name in LOSSES
        if not (loss or call.name in ARITHMETIC) or len(op.inputs) < 2:
            continue
        one, other = op.inputs[0].shape, op.inputs[1].shape
        if op.span is None or not one or not other:
            continue
        if one == other:
            alike.setdefault(op.span, set()).add(one[0])
        elif one[1:] == other[1:] and 1 in (one[0], other[0]):
            many = max(one[0], other[0])
            if {1, many} <= set(scene.flow.samples) and many in alike.get(op.span, ()):
                yield of_last_batch(scene, call, many)
        elif loss:
            found = picked(scene, call)
            if found is not None:
                yield of_pick(scene, call, *found)


def picked(scene: Scene, call: Call) -> tuple[int, Axis, Op] | None:
    """Which side is one sample of the batch that the other counts, and its index."""
    for at in (0, 1):
        one, other = call.dims[at], call.dims[1 - at]
        shape = call.op.inputs[at].shape
        if (
            len(one) >= len(other)
            or shape != call.op.inputs[1 - at].shape[-len(shape) :]
        ):
            continue
        back = len(other) - len(one)
        if back != 1 or not is_sample(scene, other[0]):
            continue
        index = index_of(scene, call, at, other[0][0])
        if index is not None:
            return at, other[0][0], index
    return None


def index_of(scene: Scene, call: Call, at: int, batch: Axis) -> Op | None:
    """The index that took one sample of a batch, on the way to a call."""
    maker = scene.maker(call.op.inputs[at])
    for _ in range(FARTHEST):
        if maker is None or not maker.op.inputs:
            return None
        if takes_one(maker, maker.dims[0], batch):
            return maker.op
        if maker.name not in KEEPS:
            return None
        maker = scene.maker(maker.op.inputs[0])
    return None


def takes_one(call: Call, dims: Dims, batch: Axis) -> bool:
    """Whether a call takes one sample: `x[0]`, `x.select(0, 0)`."""
    if not dims or len(dims[0]) != 1 or dims[0][0].root is not batch.root:
        return False
    if call.name == "select":
        return bool(call.given(1, "dim") == 0)
    items = items_of(call) if call.name == "[]" else None
    return items is not None and type(items[0]) is int


def of_pick(scene: Scene, call: Call, at: int, batch: Axis, index: Op) -> Finding:
    names = scene.names(call.op)
    message = (
        f"{scene.operation(call.op)} of {names[0]} and {names[1]} compares one sample"
        f" with each of the {batch.size}"
    )
    return scene.finding(
        "one-sample",
        call.op,
        message,
        (index, "one sample of the batch is taken here"),
        (
            scene.program.producers.get(call.op.inputs[1 - at].tensor),
            f"{names[1 - at]} was made here",
        ),
    )


def of_last_batch(scene: Scene, call: Call, many: int) -> Finding:
    names = scene.names(call.op)
    message = (
        f"{scene.operation(call.op)} of {names[0]} and {names[1]} broadcasts a batch of"
        f" one sample to {many}; in other batches both sides have as many"
    )
    longer = call.op.inputs[0 if call.op.inputs[0].shape[0] == many else 1]
    maker = scene.program.producers.get(longer.tensor)
    return scene.finding(
        "one-sample",
        call.op,
        message,
        (maker, f"{many} are made here, for every batch"),
    )
