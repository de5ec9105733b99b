"""Samples that are scaled by the extremes of the whole batch."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.axes.flow import Call, length
from shapewright.reasoning.axes.reducing import reduced_dims
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.program import shape_text
from shapewright.trace.fact import Fact

EXTREMES = frozenset({"max", "min", "amax", "amin"})
ROUNDING = frozenset(
    "round round_ fake_quantize_per_tensor_affine quantize_per_tensor floor to int "
    "char byte".split()
)
STEPS = 6
"""Calls between an extreme and the division."""


@hazard("batch-dependence")
def batch_dependences(scene: Scene) -> Iterator[Finding]:
    """Divisions of per-sample maps by an extreme that was taken over all samples."""
    if not scene.model or scene.batch is None:
        return
    for call in scene.calls:
        if call.name not in ("/", "div", "true_divide") or len(call.dims) != 2:
            continue
        if call.op.span is None or not per_sample(scene, call):
            continue
        found = extreme(scene, call)
        if found is not None and not rounded(scene, call):
            yield told(scene, call, found)


def per_sample(scene: Scene, call: Call) -> bool:
    """Whether a tensor of samples is divided by one number."""
    dims, by = call.dims
    batch = [dim for dim in dims if scene.is_batch(dim) and length(dim) > 1]
    data = [dim for dim in dims if any(axis.data for axis in dim) and length(dim) > 1]
    return not by and bool(batch) and len(data) > 1 and len(dims) > 2


def extreme(scene: Scene, call: Call) -> Call | None:
    """The extreme in a divisor that was taken over the tensor that is divided."""
    numerator = ancestors(scene, call.op.inputs[0])
    waiting, steps = [call.op.inputs[1]], 0
    while waiting and steps < STEPS:
        steps += 1
        maker = scene.maker(waiting.pop())
        if maker is None or not maker.op.inputs:
            continue
        if maker.name in EXTREMES and maker.dims[0]:
            gone = reduced_dims(maker)
            whole = gone is not None and len(gone) == len(maker.dims[0])
            if whole and maker.op.inputs[0].tensor in numerator:
                return maker
            if whole and magnitudes(scene, maker.op.inputs[0], numerator):
                return maker
            continue
        waiting += [fact for fact in maker.op.inputs if not fact.shape]
    return None


def magnitudes(scene: Scene, fact: Fact, numerator: set[int]) -> bool:
    """Whether a tensor is the magnitudes of one of these: `x.abs()`."""
    maker = scene.maker(fact)
    return (
        maker is not None
        and maker.name == "abs"
        and maker.op.inputs[0].tensor in numerator
    )


def ancestors(scene: Scene, fact: Fact) -> set[int]:
    """A tensor, and what it is after a number was taken off."""
    found = {fact.tensor}
    maker = scene.maker(fact)
    if maker is not None and maker.name in ("-", "sub", "abs", "clone") and maker.dims:
        found.add(maker.op.inputs[0].tensor)
    return found


def rounded(scene: Scene, call: Call) -> bool:
    """Whether what comes out is rounded: a scale for all, as for quantisation."""
    fact = call.op.outputs[0]
    for _ in range(3):
        users = scene.users.get(fact.tensor, [])
        if any(user.name in ROUNDING for user in users):
            return True
        if len(users) != 1 or not users[0].op.outputs:
            return False
        fact = users[0].op.outputs[0]
    return False


def told(scene: Scene, call: Call, found: Call) -> Finding:
    batch = scene.batch
    assert batch is not None
    whole = shape_text(found.op.inputs[0])
    message = (
        f"each of the {batch.size} samples is divided by the `{found.name}` of all of"
        f" them, {whole}: what comes out depends on what else is in the batch"
    )
    return scene.finding(
        "batch-dependence",
        found.op,
        message,
        (found.op, f"`{found.op.name}` without `dim` goes over the batch as well"),
        (call.op, "every sample is divided here"),
    )
