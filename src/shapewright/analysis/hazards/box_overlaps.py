"""Find overlaps of boxes that are the product of two differences without a limit: for
boxes that lie apart in both directions it is positive.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import BOX_FORMAT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

SUBTRACTING = operators_with("subtracts") | {"-", "sub"}
REPLACING = operators_with("replaces_odd_values")
LARGER, SMALLER = ("max", "maximum"), ("min", "minimum")


def find_unlimited_overlaps(scene: HazardContext) -> Iterator[Finding]:
    """Find `(x2 - x1) * (y2 - y1)` of the inner corners of two boxes."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2:
            continue
        if call.op.span is None or call.op.span in seen:
            continue
        sides = [_find_side(scene, fact) for fact in call.op.inputs]
        if None in sides or _is_masked(scene, call):
            continue
        seen.add(call.op.span)
        yield scene.finding(
            BOX_FORMAT,
            call.op,
            "the overlap of two boxes that lie apart in both directions is the product"
            " of two negative numbers here: each side needs `clamp(min=0)`",
        )


def _is_masked(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a product is multiplied again, by what says that boxes overlap, or
    replaced in part.
    """
    users = scene.users.get(call.op.outputs[0].tensor, ())
    return any(user.name in PRODUCTS | REPLACING for user in users)


def _find_side(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the difference of the nearer ends of two boxes in one direction."""
    call = scene.maker(fact)
    if call is None or call.name not in SUBTRACTING or len(call.op.inputs) != 2:
        return None
    ends = [scene.maker(part) for part in call.op.inputs]
    if any(end is None or len(end.op.inputs) != 2 for end in ends):
        return None
    names = [end.name for end in ends if end is not None]
    return call if names[0] in SMALLER and names[1] in LARGER else None
