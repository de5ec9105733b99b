"""Find the last state of one direction of a bidirectional layer that stands for both:
`h[-1]`, where nothing reads `h[-2]` or the output.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import RECURRENT, HazardContext
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import LAST_STEP
from shapewright.findings.finding import Finding
from shapewright.record.ops import Op


def find_single_directions(scene: HazardContext) -> Iterator[Finding]:
    """Find bidirectional layers of which the last backward state alone is read."""
    seen: set[object] = {None}
    for layer in scene.calls:
        outputs = layer.op.outputs
        if layer.name not in RECURRENT or len(outputs) < 2 or layer.op.span in seen:
            continue
        width = outputs[1].shape[-1]
        if outputs[0].shape[-1] != 2 * width or outputs[1].ndim != len("LBH"):
            continue
        others = (outputs[0], *outputs[2:])
        if any(scene.users.get(fact.tensor) for fact in others):
            continue
        reads = scene.users.get(outputs[1].tensor, ())
        if len(reads) != 1 or not _is_last(reads[0].op, outputs[1].shape[0]):
            continue
        if scene.program.node(reads[0].op.span) is None:
            continue
        items = get_items(reads[0]) if reads[0].name == "[]" else None
        if items is not None and len(items) != 1:
            continue
        seen.add(layer.op.span)
        name = scene.words(reads[0].op)[0]
        message = (
            f"the last of {name} is the state of the backward direction alone: nothing"
            " reads the forward one, which stands before it"
        )
        where = (layer.op, "the layer has two directions")
        yield scene.finding(LAST_STEP, reads[0].op, message, where)


def _is_last(op: Op, count: int) -> bool:
    """Return whether an index takes the last of all states."""
    numbers = [value for _, value in op.arguments if type(value) is int]
    return op.name.rpartition(".")[2] in ("[]", "select") and bool(
        {-1, count - 1} & {*numbers[-1:]}
    )
