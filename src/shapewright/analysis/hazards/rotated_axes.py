"""Find queries and keys that are rotated by the number of their head, or of their
sample, in place of their position.

The length of the tables is read off the tensor that they rotate, so any order of the
dims runs: (batch, time, heads, width) where (batch, heads, time, width) is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, find_ancestors
from shapewright.analysis.provenance.axes import Dim
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.spans import is_installed
from shapewright.record.ops import Fact

ANGLES = frozenset({"cos", "sin", "polar"})
"""Calls that make a table of rotations."""
COUNTING = operators_with("is_range_factory") | {"cumsum"}
MOST_CALLERS = 3
FARTHEST = 24
"""Calls between positions and the table of their rotations."""


def find_rotated_axes(scene: HazardContext) -> Iterator[Finding]:
    """Find tables of rotations that are multiplied along heads or samples."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2:
            continue
        function = tuple(frame.span for frame in call.op.frames[:-1])
        if call.op.span is None or {call.op.span, function} & seen:
            continue
        for at, table in enumerate(call.op.inputs):
            turned = call.op.inputs[1 - at]
            place = _find_axis_of_table(scene, turned, table)
            if place is None or not _is_of_positions(scene, table):
                continue
            dims = call.dims[1 - at]
            axis = _name_wrong(scene, dims[place])
            steps = _find_steps(scene, dims, place)
            if axis and steps is not None:
                seen |= {call.op.span, function or call.op.span}
                yield _report(scene, call, 1 - at, place, steps, axis)
                break


def _find_axis_of_table(scene: HazardContext, turned: Fact, table: Fact) -> int | None:
    """Return the dim of a tensor along which a table has one row for each position, or
    None if it is no table with the width of heads in the last dim.
    """
    extra = turned.ndim - table.ndim
    if turned.ndim < 4 or extra < 0 or table.ndim < 2:
        return None
    wide = [at for at, size in enumerate(table.shape) if size > 1]
    if len(wide) != 2 or wide[1] != table.ndim - 1:
        return None
    return wide[0] + extra


def _is_of_positions(scene: HazardContext, table: Fact) -> bool:
    """Return whether a table holds rotations of counted positions."""
    names = {call.name for call in find_ancestors(scene, table, FARTHEST).values()}
    return bool(names & ANGLES) and bool(names & COUNTING)


def _name_wrong(scene: HazardContext, dim: Dim) -> str:
    """Return what a dim counts that has no order: heads or samples."""
    if scene.sure and scene.is_batch(dim):
        return "samples"
    if len(dim) == 1 and dim[0].kind == "part" and dim[0].root.kind == "feature":
        return "heads"
    return ""


def _find_steps(scene: HazardContext, dims: tuple[Dim, ...], place: int) -> int | None:
    """Return the dim that counts the steps of a sequence, if another one does."""
    for at, dim in enumerate(dims[:-1]):
        if at == place or scene.has_batch(dim) or dim[0].size < 2:
            continue
        if len(dim) == 1 and dim[0].root.data:
            return at
    return None


def _report(
    scene: HazardContext, call: OperatorCall, at: int, place: int, steps: int, axis: str
) -> Finding:
    name = scene.words(call.op)[at]
    shape = call.op.inputs[at].shape
    message = (
        f"{name} {shape} is rotated along dim {place}, which counts {shape[place]}"
        f" {axis}, and not along dim {steps}, its {shape[steps]} steps"
    )
    finding = scene.finding(WRONG_AXIS, call.op, message)
    callers = tuple(
        Related(frame.span, "called from here")
        for frame in reversed(call.op.frames[:-1])
        if not is_installed(frame.span.file)
    )
    return replace(finding, related=(*finding.related, *callers[:MOST_CALLERS]))
