"""Find gradient penalties whose norm is taken over one dim of a picture."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_scales import SQUARES
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PARTIAL_NORM, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

NORMS = frozenset({"norm", "vector_norm"})
SUBTRACTING = operators_with("subtracts") | {"-="}
SHIFTING = operators_with("adds_terms", "clamps") | {"+", "add"}


@looks_for(PARTIAL_NORM)
def find_partial_norms(scene: HazardContext) -> Iterator[Finding]:
    """Find norms over the channels alone, of gradients that are drawn to length 1."""
    for call in scene.calls:
        if not call.op.inputs or call.op.span is None:
            continue
        gradients = _find_gradients(scene, call)
        maker = scene.maker(gradients) if gradients is not None else None
        if gradients is None or maker is None or maker.name != "grad":
            continue
        if gradients.ndim < 3:
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
        name = scene.names(call.op)[0] if call.name in NORMS else "the gradients"
        message = (
            f"the norm of {name} is taken over {size} numbers at a"
            f" time, {out.numel // out.shape[0]} norms for each sample: the penalty"
            " draws each of them to 1, not the gradient of the sample"
        )
        yield scene.finding(
            PARTIAL_NORM, call.op, message, (maker.op, "the gradient is computed here")
        )


def _find_gradients(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the tensor of which a call is the norm, or the root of a sum of squares;
    None for other calls.
    """
    if call.name in NORMS:
        return call.op.inputs[0]
    if call.name != "sqrt":
        return None
    total = scene.maker(call.op.inputs[0])
    if total is not None and total.name in SHIFTING and len(total.op.inputs) == 1:
        total = scene.maker(total.op.inputs[0])
    squares = scene.maker(total.op.inputs[0]) if total and total.name == "sum" else None
    if squares is None or not squares.op.inputs:
        return None
    tensors = {fact.tensor for fact in squares.op.inputs}
    power = squares.name in SQUARES and squares.given(1, "exponent", default=2) == 2
    product = squares.name in PRODUCTS and len(squares.op.inputs) == 2
    return squares.op.inputs[0] if len(tensors) == 1 and (power or product) else None
