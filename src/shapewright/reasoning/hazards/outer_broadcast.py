"""`(N, 1)` with `(N,)` gives `(N, N)`: every sample meets every other."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.axes.axis import Axis, Dim, Dims
from shapewright.reasoning.axes.flow import Call, length
from shapewright.reasoning.hazards.outer_loss import Pair, paired_in_losses
from shapewright.reasoning.hazards.pointwise import ARITHMETIC, LOSSES
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.program import shape_text


@hazard("outer-broadcast")
def outer_broadcasts(scene: Scene) -> Iterator[Finding]:
    """Pointwise calls that pair the samples of one tensor with those of another."""
    seen = set()
    for call in scene.calls:
        loss = call.name in LOSSES
        if (loss or call.name in ARITHMETIC) and len(call.op.inputs) > 1:
            if call.op.span is None:
                continue
            found = paired(scene, call.dims[0], call.dims[1], loss)
            if found is not None:
                seen.add(call.op.span)
                yield told(scene, call, *found, loss)
    for pair in paired_in_losses(scene.program.trace.ops, scene.program.producers):
        if pair.op.span not in seen:
            yield of_steps(scene, pair)


def paired(scene: Scene, one: Dims, other: Dims, loss: bool) -> tuple[Axis, int] | None:
    """The samples that two tensors share in different dims, and whose is longer."""
    if len(one) == len(other):
        return None
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    back = len(longer) - len(shorter)
    for at, dim in enumerate(shorter):
        facing = longer[at + back]
        if length(facing) != 1 or not is_sample(scene, dim):
            continue
        if not loss and not by_accident(facing):
            continue
        for front, before in enumerate(longer[: at + back]):
            own = front - back
            alone = own < 0 or length(shorter[own]) == 1
            if alone and len(before) == 1 and before[0].root is dim[0].root:
                return dim[0], 0 if longer is one else 1
    return None


def by_accident(dim: Dim) -> bool:
    """Whether a dim of size 1 stands there without having been asked for."""
    return not dim[0].explicit and dim[0].kind in ACCIDENTS


ACCIDENTS = frozenset({"feature", "input", "source", "one", "state"})


def is_sample(scene: Scene, dim: Dim) -> bool:
    """Whether a dim counts the samples of an input."""
    if len(dim) != 1 or dim[0].size < 2:
        return False
    if scene.is_batch(dim):
        return True
    root = dim[0].root
    return any(dims and dims[0][0].root is root for dims in scene.flow.inputs)


def told(scene: Scene, call: Call, axis: Axis, longer: int, loss: bool) -> Finding:
    op = call.op
    names = scene.names(op)
    if op.outputs[0].shape:
        result = shape_text(op.outputs[0])
    else:
        wide, slim = op.inputs[longer].shape, op.inputs[1 - longer].shape
        result = shape_text(op.inputs[longer]) if len(slim) > len(wide) else ""
        sizes = [max(a, b) for a, b in zip(
            wide, (1,) * (len(wide) - len(slim)) + slim, strict=True)]  # fmt: skip
        result = f"({', '.join(map(str, sizes))})"
    where = axis.root.words or "the same samples"
    message = (
        f"{scene.operation(op)} of {names[0]} and {names[1]} makes {result}:"
        f" each of the {axis.size} samples meets every other"
    )
    maker = scene.program.producers.get(op.inputs[longer].tensor)
    return scene.finding(
        "outer-broadcast",
        op,
        message,
        (op, f"{axis.size} is {where} on both sides, once in front of a dim of size 1"),
        (maker, f"{names[longer]} was made here"),
    )


def of_steps(scene: Scene, pair: Pair) -> Finding:
    """The finding of a pair of which the run shows that a loss is made of it."""
    op, names = pair.op, scene.names(pair.op)
    size = op.inputs[1 - pair.longer].shape[0]
    return scene.finding(
        "outer-broadcast",
        op,
        f"{scene.operation(op)} of {names[0]} and {names[1]} makes ({size}, {size}): "
        f"each of the {size} samples meets every other",
        (pair.maker, f"{names[pair.longer]} was made here"),
        (pair.origin, f"{names[1 - pair.longer]} comes from here"),
        (pair.backward, "the backward pass of the loss that is made of it"),
    )
