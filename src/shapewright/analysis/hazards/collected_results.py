"""Find results of all batches, (N, 1), that meet the labels of all batches, (N,).

Both were joined from lists, batch by batch, so that no dim is known to count the
samples of an input: what shows it are the lists, whose items have equal lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ARITHMETIC, LOSSES, HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OUTER_BROADCAST
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

JOINING = operators_with("concatenates")
KEEPING = operators_with("keeps_shape") | operators_with("keeps_elements")
FARTHEST = 8
"""Calls between the joined list and the call that pairs its rows."""


def find_collected_pairs(scene: HazardContext) -> Iterator[Finding]:
    """Find calls that pair each joined result with all joined labels."""
    for call in scene.calls:
        if call.name not in ARITHMETIC | LOSSES or call.op.span is None:
            continue
        at = _find_column(call)
        if at is None:
            continue
        column = _find_join(scene, call.op.inputs[at])
        row = _find_join(scene, call.op.inputs[1 - at])
        if column is None or row is None or not _is_of_equal_parts(column, row):
            continue
        size = call.op.inputs[1 - at].shape[0]
        names = scene.names(call.op)
        message = (
            f"{scene.operation(call.op)} of {names[0]} and {names[1]} makes"
            f" ({size}, {size}): each of the {size} samples is combined with every"
            " other"
        )
        yield scene.finding(
            OUTER_BROADCAST,
            call.op,
            message,
            (column, f"{names[at]} is joined here, batch by batch"),
            (row, f"{names[1 - at]} is joined here, of batches of the same lengths"),
        )


def _find_column(call: OperatorCall) -> int | None:
    """Return which of two operands is a column, (N, 1), that meets (N,), or None."""
    if len(call.op.inputs) != 2:
        return None
    for at, (column, row) in enumerate((call.op.inputs, call.op.inputs[::-1])):
        if row.ndim == 1 and row.shape[0] > 1 and column.shape == (row.shape[0], 1):
            return at
    return None


def _find_join(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the call that joined a tensor along its first dim, or None."""
    for _ in range(FARTHEST):
        maker = scene.program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return None
        name = maker.name.rpartition(".")[2]
        if name in JOINING:
            lengths = sum(part.shape[0] for part in maker.inputs if part.shape)
            return maker if lengths == fact.shape[0] else None
        if name not in KEEPING and name not in ARITHMETIC:
            return None
        if maker.inputs[0].shape != fact.shape:
            return None
        fact = maker.inputs[0]
    return None


def _is_of_equal_parts(join: Op, other: Op) -> bool:
    """Return whether two joins take as many tensors, of the same lengths in turn."""
    lengths, others = (
        [fact.shape[0] for fact in op.inputs if fact.shape] for op in (join, other)
    )
    return lengths == others
