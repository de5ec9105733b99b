"""Find parts of one table that are each standardized by their own mean and deviation.

Sets from elsewhere may have units of their own, and so may each of many subjects. So
the parts must come from one tensor, one of them is trained on, and the others are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_ancestors, iter_losses
from shapewright.analysis.hazards.table_statistics import find_own_table_statistics
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_reduced_dims
from shapewright.findings.codes import OWN_STATISTICS, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.spans import Span
from shapewright.record.ops import Fact

DIFFERENCES = frozenset({"-", "sub", "subtract", "__sub__"})
QUOTIENTS = operators_with("divides_elements")
SPREADS = operators_with("measures_spread")
CHOICES = operators_with("splits", "reads_by_index") | {"narrow"}
NEAREST = 4
"""Calls between a deviation and the division by it."""
MOST_PARTS = 3
"""Parts of a table: for training, validation and test."""
MOST_LOSSES = 12
MOST = 2_000
"""Calls before a loss that are looked at."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows from which their own mean is taken, and the tensor that they are part of."""

    call: OperatorCall
    rows: Fact
    whole: int


@looks_for(OWN_STATISTICS)
def find_own_statistics(scene: HazardContext) -> Iterator[Finding]:
    """Find rows for a test that are standardized by themselves, beside those of the
    same table that are trained on.
    """
    yield from find_own_table_statistics(scene.program)
    parts: dict[int, dict[object, _Part]] = {}
    for call in scene.calls:
        if call.name in DIFFERENCES and _is_standardized(scene, call):
            rows = call.op.inputs[0]
            whole = _find_whole(scene, rows)
            if whole is not None:
                key = rows.tensor, rows.storage_offset
                group = parts.setdefault(whole, {})
                group.setdefault(key, _Part(call, rows, whole))
    if not any(1 < len(group) <= MOST_PARTS for group in parts.values()):
        return
    trained = _find_trained(scene)
    for group in parts.values():
        if not 1 < len(group) <= MOST_PARTS:
            continue
        used = [part for part in group.values() if part.call.op.index in trained]
        others = [part for part in group.values() if part not in used]
        shapes = {part.rows.shape[1:] for part in group.values()}
        if len(used) != 1 or len(shapes) > 1:
            continue
        for part in others:
            span, other = _find_difference(part.call, used[0].call)
            if span is None:
                continue
            message = (
                f"these {part.rows.shape[0]} rows are standardized by their own mean"
                f" and deviation, and the {used[0].rows.shape[0]} rows of the same"
                " table that are trained on by theirs: one value means two things"
            )
            places = ((other, "those that are trained on"), (part.call.op.span, "here"))
            related = tuple(
                Related(place, words)
                for place, words in places
                if place is not None and place != span
            )
            yield Finding(OWN_STATISTICS, "warning", message, span, related=related)


def _is_standardized(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a difference takes the mean of all rows from these, and is divided
    by their deviation.
    """
    if len(call.op.inputs) != 2 or call.op.inputs[0].requires_grad:
        return False
    rows = call.op.inputs[0]
    mean = scene.maker(call.op.inputs[1])
    if len(rows.shape) < 2 or mean is None or mean.name not in ("mean", "std_mean"):
        return False
    gone = find_reduced_dims(mean)
    if not _is_same(mean.op.inputs[0], rows) or gone is None or 0 not in gone:
        return False
    return any(
        user.name in QUOTIENTS
        and len(user.op.inputs) == 2
        and any(
            before.name in SPREADS and _is_same(before.op.inputs[0], rows)
            for before in find_ancestors(scene, user.op.inputs[1], NEAREST).values()
        )
        for user in scene.users.get(call.op.outputs[0].tensor, ())
    )


def _is_same(fact: Fact, rows: Fact) -> bool:
    """Return whether two tensors show the same elements."""
    return (fact.storage, fact.storage_offset, fact.shape) == (
        rows.storage, rows.storage_offset, rows.shape,
    )  # fmt: skip


def _find_whole(scene: HazardContext, rows: Fact) -> int | None:
    """Return the tensor of which rows are chosen, or None."""
    maker = scene.maker(rows)
    if maker is None or not maker.op.inputs:
        return None
    whole = maker.op.inputs[0]
    smaller = maker.name in CHOICES and whole.shape[1:] == rows.shape[1:]
    return whole.tensor if smaller and whole.shape[0] > rows.shape[0] else None


def _find_trained(scene: HazardContext) -> set[int]:
    """Return the calls from which what is trained on follows."""
    trained: set[int] = set()
    for at, loss in enumerate(iter_losses(scene)):
        if at >= MOST_LOSSES:
            break
        calls = find_ancestors(scene, loss, MOST).values()
        trained |= {call.op.index for call in calls}
    return trained


def _find_difference(
    call: OperatorCall, other: OperatorCall
) -> tuple[Span | None, Span | None]:
    """Return the outermost places at which two calls differ."""
    for frame, earlier in zip(call.op.frames, other.op.frames, strict=False):
        if frame.span != earlier.span:
            return frame.span, earlier.span
    return call.op.span, other.op.span
