"""Find gradient penalties whose norm is taken over one dim of a picture."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import PARTIAL_NORM, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

NORMS = frozenset({"norm", "vector_norm"})
SUBTRACTING = operators_with("subtracts") | {"-="}


@looks_for(PARTIAL_NORM)
def find_partial_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find norms over the channels alone, of gradients that are drawn to length 1."""
    for call in scene.calls:
        if call.name not in NORMS or not call.op.inputs or call.op.span is None:
            continue
        gradients = call.op.inputs[0]
        maker = scene.maker(gradients)
        if gradients.ndim < 3 or maker is None or maker.name != "grad":
            continue
        out = call.op.outputs[0]
        kept = [size for size in out.shape[1:] if size != 1]
        users = scene.users.get(out.tensor, ())
        is_drawn = any(
            user.name in SUBTRACTING and user.given(1) in (1, 1.0) for user in users
        )
        if not kept or not is_drawn or out.shape[:1] != gradients.shape[:1]:
            continue
        size = (
            gradients.numel // gradients.shape[0] // max(1, out.numel // out.shape[0])
        )
        message = (
            f"the norm of {scene.names(call.op)[0]} is taken over {size} numbers at a"
            f" time, {out.numel // out.shape[0]} norms for each sample: the penalty"
            " draws each of them to 1, not the gradient of the sample"
        )
        yield scene.finding(
            PARTIAL_NORM, call.op, message, (maker.op, "the gradient is computed here")
        )
