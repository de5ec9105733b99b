"""Find weights that a softmax makes over all edges of a graph and that are then added
up for each node: they sum to one over the graph, and to next to nothing at a node.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import SOFTMAX_OVER_GROUPS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

SUMS_BY_INDEX = operators_with("adds_by_index")
DROPOUTS = operators_with("drops_elements")
FEWEST_GROUPS = 2
FARTHEST = 4
"""Products between the weights and their sum."""


@looks_for(SOFTMAX_OVER_GROUPS)
def find_weights_of_all_groups(scene: HazardContext) -> Iterator[Finding]:
    """Find sums for each group of what weights multiply that sum to one over all."""
    seen: set[object] = set()
    for call in scene.calls:
        place = _find_source(call)
        if place is None:
            continue
        source, dim, groups = place
        many = source.shape[dim]
        if not FEWEST_GROUPS <= groups < many:
            continue
        softmax = _find_softmax(scene, source, dim)
        if softmax is None or softmax.span in seen or _is_divided(scene, softmax):
            continue
        seen.add(softmax.span)
        yield scene.finding(
            SOFTMAX_OVER_GROUPS,
            softmax,
            f"these weights sum to one over all {many:,} entries, and `{call.name}`"
            f" adds up what they multiply for each of {groups:,} places: the weights of"
            f" one place sum to about 1/{groups:,}",
            (call.op, "the sums are made here"),
        )


def _find_source(call: OperatorCall) -> tuple[Fact, int, int] | None:
    """Return what a call adds up by an index, along which dim, and to how many places;
    None if the call is no such sum.
    """
    if call.name not in SUMS_BY_INDEX or len(call.op.inputs) != 3:
        return None
    if "reduce" in call.name and call.given(4, "reduce", default="sum") != "sum":
        return None
    target, dim = call.op.inputs[0], call.given(1, "dim")
    sources = [
        fact
        for fact in call.op.inputs[1:]
        if fact.dtype.startswith(("float", "bf")) and fact.ndim == target.ndim
    ]
    if len(sources) != 1 or not isinstance(dim, int) or not target.ndim:
        return None
    dim %= target.ndim
    return sources[0], dim, target.shape[dim]


def _find_softmax(scene: HazardContext, source: Fact, dim: int) -> Op | None:
    """Return the softmax along a dim whose weights multiply the entries of that dim."""
    for _ in range(FARTHEST):
        fact = find_base(scene, source) if dim == 0 else source
        call = scene.maker(fact)
        is_product = call is not None and call.name in PRODUCTS
        if call is None or not is_product or len(call.op.inputs) != 2:
            return None
        if not fact.ndim or fact.shape[dim] != source.shape[dim]:
            return None
        pair = call.op.inputs
        for weights, others in (pair, pair[::-1]):
            softmax = _find_weights(scene, weights, dim - fact.ndim)
            at = dim - fact.ndim + others.ndim
            if softmax is not None and at >= 0 and others.shape[at] > 1:
                return softmax
        source = max(pair, key=lambda other: other.ndim)
        if source.ndim != fact.ndim:
            return None
    return None


def _find_weights(scene: HazardContext, weights: Fact, dim: int) -> Op | None:
    """Return the softmax that made weights along a dim, counted from the end."""
    dims = scene.flow.of(weights)
    if len(dims) + dim < 0 or len(dims[dim]) != 1:
        return None
    maker = scene.maker(find_base(scene, weights, DROPOUTS))
    if maker is not None and maker.name == "[]" and len(maker.op.inputs) == 1:
        before = maker.op.inputs[0]
        if before.numel == weights.numel:  # `alpha[:, None]`
            maker = scene.maker(find_base(scene, before, DROPOUTS))
    if maker is None or maker.name != "softmax":
        return None
    return maker.op if dims[dim][0].softmax == maker.op.index else None


def _is_divided(scene: HazardContext, softmax: Op) -> bool:
    """Return whether the weights themselves are added up too, as by what divides by
    their sum in each group.
    """
    own = softmax.outputs[0].tensor
    for call in scene.calls:
        place = _find_source(call)
        if place is not None and find_base(scene, place[0]).tensor == own:
            return True
    return False
