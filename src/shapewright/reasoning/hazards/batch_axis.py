"""What is normalised along the batch, so that samples of a batch compete."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.axes.flow import Call, length
from shapewright.reasoning.axes.products import (
    contraction,
    einsum_letters,
    equation,
    output_letters,
)
from shapewright.reasoning.axes.reducing import reduced_dims, softmax_dim
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.hazards.wrong_axis import is_marked
from shapewright.reasoning.program import shape_text

NORMALISERS = frozenset({"softmax", "log_softmax", "normalize", "softmin"})

RUNNING = frozenset({"cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"})


@hazard("batch-axis")
def batch_axes(scene: Scene) -> Iterator[Finding]:
    """Softmax and `normalize` along the samples of a batch."""
    if not scene.model:
        return
    for call in scene.calls:
        if call.name in RUNNING and call.op.span is not None and scene.sure:
            along = call.given(1, "dim")
            if isinstance(along, int) and accumulates(scene, call, along):
                yield told(scene, call, along % len(call.dims[0]))
        if call.name == "einsum" and call.op.span is not None and scene.sure:
            letter = summed_samples(scene, call)
            if letter is not None:
                yield of_einsum(scene, call, letter)
        if call.name in NORMALISERS and call.op.span is not None:
            at = normalised(call)
            if at is not None and competes(scene, call, at):
                yield told(scene, call, at)


def summed_samples(scene: Scene, call: Call) -> str | None:
    """The letter of the samples, where an einsum with weights of a layer sums them."""
    states = scene.program.states
    found, letters = equation(call), einsum_letters(call)
    if found is None or letters is None or found[1] is None:
        return None  # without an arrow `einsum-reduction` tells it
    if not any(f.tensor in states and len(f.shape) > 1 for f in call.op.inputs):
        return None
    kept = output_letters(*found)
    for letter, dim in letters.items():
        if letter not in kept and scene.is_batch(dim) and length(dim) > 1:
            return letter if kept else None
    return None


def of_einsum(scene: Scene, call: Call, letter: str) -> Finding:
    message = (
        f"{scene.operation(call.op)} sums over `{letter}`, the batch: all samples get"
        f" one {shape_text(call.op.outputs[0])}"
    )
    why = f"`{letter}` stands before the arrow and not behind it"
    return scene.finding("batch-axis", call.op, message, (call.op, why))


def accumulates(scene: Scene, call: Call, at: int) -> bool:
    """Whether a running sum goes from sample to sample."""
    dims = call.dims[0]
    return len(dims) > 1 and scene.is_batch(dims[at]) and length(dims[at]) > 1


def normalised(call: Call) -> int | None:
    """The dim along which a call normalises."""
    if call.name == "normalize":
        at = call.given(2, "dim", default=1)
        return at % len(call.dims[0]) if isinstance(at, int) else None
    return softmax_dim(call)


def competes(scene: Scene, call: Call, at: int) -> bool:
    """Whether samples compete that should not, as far as the run tells."""
    dims = call.dims[0]
    if len(dims) < 2 or not scene.is_batch(dims[at]) or length(dims[at]) < 2:
        return False
    if call.op.inputs[0].tensor in scene.program.states:
        return False
    others = [dim for place, dim in enumerate(dims) if place != at and length(dim) > 1]
    if not others or any(scene.has_batch(dim) for dim in others):
        return False  # all samples have one score, or each is compared with each
    if not any(axis.kind in ("feature", "part") for dim in others for axis in dim):
        return False
    return not used_along(scene, call)


def used_along(scene: Scene, call: Call) -> bool:
    """Whether what comes out is summed, or chosen from, along that axis: pooling."""
    if call.name != "softmax":
        return False
    index = call.op.index
    for user in scene.calls:
        if user.op.index <= index:
            continue
        made = contraction(user)
        gone = (*made.left, *made.right) if made is not None else ()
        if user.name in ("sum", "mean", "topk", "sort") and user.dims:
            dims = user.dims[0]
            at = reduced_dims(user) if user.name in ("sum", "mean") else None
            gone = tuple(dims[d] for d in at) if at is not None else dims
        if any(is_marked(dim) and dim[0].softmax == index for dim in gone):
            return True
    return False


def told(scene: Scene, call: Call, at: int) -> Finding:
    batch = scene.batch
    assert batch is not None
    shape = shape_text(call.op.inputs[0])
    message = (
        f"{scene.operation(call.op)} of {shape} runs along dim {at}, the batch:"
        f" its {length(call.dims[0][at])} samples share what each should have"
    )
    chosen = (
        call.name in ("softmax", "log_softmax", "softmin")
        and call.given(1, "dim") is None
    )
    why = f"dim {at} is {batch.words}" if batch.words else f"dim {at} is the batch"
    if chosen:
        why += "; without `dim`, torch takes dim 0 of three"
    return scene.finding("batch-axis", call.op, message, (call.op, why))
