"""Find derivatives of a field of several columns that are added up over them."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import SUMMED_DERIVATIVES, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

PARTS = operators_with("splits")
ONES = frozenset({"ones_like", "ones"})
MOST = 8
"""Columns of a field in space, at most: velocities, or a pressure with them."""


@looks_for(SUMMED_DERIVATIVES)
def find_summed_derivatives(scene: HazardContext) -> Iterator[Finding]:
    """Find `grad(vel, xy, torch.ones_like(vel))` of which single columns are read."""
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name != "grad" or op.span is None or op.span in seen:
            continue
        field = _find_field(scene, call)
        if field is None or len(op.outputs) != 1 or not _is_read_by_column(scene, call):
            continue
        seen.add(op.span)
        name = _name_field(scene, call)
        yield scene.finding(
            SUMMED_DERIVATIVES,
            op,
            f"{name} is of {field.shape[1]} columns, and all of them count alike: each"
            " derivative is that of their sum, not of one of them",
        )


def _name_field(scene: HazardContext, call: OperatorCall) -> str:
    """Return the expression of what is derived."""
    place = scene.program.call_at(call.op.span)
    if place is None:
        return scene.words(call.op)[0]
    text, node = place
    words = [word.value for word in node.keywords if word.arg == "outputs"]
    values = [*node.args[:1], *words]
    return f"`{text.line_of(values[0])}`" if values else scene.words(call.op)[0]


def _find_field(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the tensor of several columns whose sum a call derives by points, or
    None.
    """
    inputs = call.op.inputs
    if len(inputs) not in (2, 3):
        return None
    field, points = inputs[:2]
    if len(inputs) == 2:
        total = scene.maker(field)
        if total is None or total.name != "sum" or field.shape:
            return None
        field = total.op.inputs[0]
    else:
        weights = scene.maker(inputs[2])
        if weights is None or weights.name not in ONES:
            return None
        if inputs[2].shape != field.shape or _is_written(scene, inputs[2]):
            return None
    is_field = field.ndim == points.ndim == 2 and field.shape[0] == points.shape[0]
    if not is_field or field.shape[0] < 2 or points.tensor in scene.program.states:
        return None
    sizes = (field.shape[1], points.shape[1])
    return field if all(1 < size <= MOST for size in sizes) else None


def _is_written(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is written in place, as weights of one column are."""
    users = scene.users.get(fact.tensor, ())
    return any(user.op.kind == "inplace" for user in users)


def _is_read_by_column(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether all that reads derivatives takes columns of them."""
    users = scene.users.get(call.op.outputs[0].tensor, ())
    return bool(users) and all(_is_column(user) for user in users)


def _is_column(user: OperatorCall) -> bool:
    """Return whether a call takes one column: `g[:, 0]`, `g[:, 0:1]`."""
    items = get_items(user) if user.name == "[]" else None
    if items is None or len(items) != 2 or items[0] not in (":", "..."):
        return user.name in PARTS
    last = items[1]
    parts = str(last).split(":")
    is_one = len(parts) == 2 and all(part.isdigit() for part in parts)
    return type(last) is int or (is_one and int(parts[1]) - int(parts[0]) == 1)
