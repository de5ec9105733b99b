"""Find weights of a softmax after which the sum runs along the features of each item:
`(features * weights[..., None]).sum(2)` for the weighted sum of the items, `.sum(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import AVERAGES, PRODUCTS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact


def find_summed_features(scene: HazardContext) -> Iterator[Finding]:
    """Find sums of weighted items along a dim in which the weights are all the same,
    where no sum along the items follows.
    """
    seen: set[object] = set()
    for call in scene.calls if scene.flow.weights else ():
        if call.name not in AVERAGES or len(call.op.inputs) != 1:
            continue
        gone = find_reduced_dims(call)
        product = scene.maker(call.op.inputs[0])
        if gone is None or len(gone) != 1 or product is None:
            continue
        if product.name not in PRODUCTS or len(product.op.inputs) != 2:
            continue
        for at, weights in enumerate(product.op.inputs):
            items = product.op.inputs[1 - at]
            place = _find_softmax_dim(product, at, weights)
            if place is None or place == gone[0] or weights.ndim != items.ndim:
                continue
            if weights.shape[gone[0]] != 1 or items.shape[gone[0]] < 2:
                continue
            if call.op.span is None or call.op.span in seen:
                continue
            if _is_summed_later(scene, call, place - (gone[0] < place)):
                continue
            seen.add(call.op.span)
            name = scene.words(product.op)[at]
            yield scene.finding(
                WRONG_AXIS,
                call.op,
                f"the sum runs along dim {gone[0]}, the {items.shape[gone[0]]} features"
                f" of each item: {name} weighs the {items.shape[place]} items, along"
                f" dim {place}",
                (product.op, "the items are weighed here"),
            )


def _find_softmax_dim(product: OperatorCall, at: int, weights: Fact) -> int | None:
    """Return the only dim of weights that a softmax made sum to one, or None."""
    dims = product.dims[at]
    places = [
        place
        for place, dim in enumerate(dims)
        if len(dim) == 1 and dim[0].softmax is not None and weights.shape[place] > 1
    ]
    return places[0] if len(places) == 1 else None


def _is_summed_later(scene: HazardContext, call: OperatorCall, place: int) -> bool:
    """Return whether what was summed along the features is summed along the items, or
    multiplied with them.
    """
    for user in scene.users.get(call.op.outputs[0].tensor, ()):
        gone = find_reduced_dims(user) if user.name in AVERAGES else ()
        if gone is None or place in gone or user.name == "matmul":
            return True
    return False
