"""A bare `squeeze()` that takes the batch away where it has one sample."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.axes.flow import Call, length
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.program import shape_text


@hazard("lost-batch")
def lost_batches(scene: Scene) -> Iterator[Finding]:
    """`squeeze()` on a tensor that has a dim of samples, beside others of size 1."""
    if not scene.model or scene.batch is None:
        return
    for call in scene.calls:
        if call.name not in ("squeeze", "squeeze_") or call.given(1, "dim") is not None:
            continue
        if call.op.span is None or len(call.op.inputs) != 1:
            continue
        dims = call.dims[0]
        at = next((d for d, dim in enumerate(dims) if scene.is_batch(dim)), None)
        ones = [d for d, dim in enumerate(dims) if length(dim) == 1 and d != at]
        if at is None or not (ones or length(dims[at]) == 1):
            continue
        yield told(scene, call, at, ones)


def told(scene: Scene, call: Call, at: int, ones: list[int]) -> Finding:
    op = call.op
    before, after = shape_text(op.inputs[0]), shape_text(op.outputs[0])
    lost = op.inputs[0].shape[at] == 1
    name = scene.names(op)[0].rsplit(" (", 1)[0]
    if lost:
        message = f"`squeeze()` of {name} {before} takes the batch away too: {after}"
    else:
        message = (
            f"`squeeze()` of {name} {before} takes the batch away too where it has one"
            " sample"
        )
    instead = f"`squeeze({ones[-1] - len(call.dims[0])})`" if ones else "`squeeze(dim)`"
    return scene.finding(
        "lost-batch",
        op,
        message,
        (op, f"dim {at} is the batch; {instead} says which dim is meant"),
        severity="warning" if lost else "note",
    )
