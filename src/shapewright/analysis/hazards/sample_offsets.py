"""Find indices within one sample that index the samples of a batch laid one after
another: all of them read the first sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import GRAPHS_WITHOUT_OFFSETS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

VIEWS = operators_with("regroups_dims", "copies_if_needed") | {"contiguous", "flatten"}
KEEPING = VIEWS | operators_with("transposes_dims", "keeps_elements") | {"[]", "long"}
RANKING = operators_with(
    "returns_indices", "returns_distinct_indices", "sorts_elements"
)
FARTHEST = 8
"""Calls that an index, or the rows, are followed back."""


def find_indices_without_offsets(scene: HazardContext) -> Iterator[Finding]:
    """Find rows of a flattened batch that are read by indices within one sample."""
    seen: set[object] = set()
    for call in scene.calls:
        places = _get_rows_and_index(call)
        if places is None or call.op.span is None or call.op.span in seen:
            continue
        rows, index = places
        before = _find_unflattened(scene, rows)
        if before is None or before.shape[0] < 2:
            continue
        ranking = _find_ranking(scene, index, before.shape[1])
        if ranking is None:
            continue
        seen.add(call.op.span)
        samples, size = before.shape[:2]
        words = scene.words(call.op)
        at = call.op.inputs.index(index)
        message = (
            f"`{words[at].strip('`')}` counts the {size} rows of one sample, and the"
            f" {rows.shape[0]} rows here are those of {samples} samples: all of them"
            f" read the first one, as `{size} * i` is not added for sample i"
        )
        yield scene.finding(
            GRAPHS_WITHOUT_OFFSETS,
            call.op,
            message,
            (ranking.op, "the indices of each sample are made here"),
        )


def _get_rows_and_index(call: OperatorCall) -> tuple[Fact, Fact] | None:
    """Return the rows and the index of a call that reads rows by an index."""
    inputs = call.op.inputs
    if len(inputs) != 2 or not inputs[0].shape:
        return None
    if call.name == "[]":
        items = get_items(call)
        if not items or items[0] != "tensor" or any(i != ":" for i in items[1:]):
            return None
        return inputs[0], inputs[1]
    if call.name == "index_select" and call.given(1, "dim") == 0:
        return inputs[0], inputs[1]
    if call.name == "embedding":
        return inputs[1], inputs[0]
    return None


def _find_unflattened(scene: HazardContext, rows: Fact) -> Fact | None:
    """Return the tensor whose first two dims a view made one."""
    for op in iter_first_makers(scene.program, rows, FARTHEST):
        before = op.inputs[0] if op.inputs else None
        if op.name.rpartition(".")[2] not in VIEWS or before is None:
            return None
        if len(before.shape) > 2 and rows.shape[0] == before.shape[0] * before.shape[1]:
            return before
    return None


def _find_ranking(scene: HazardContext, index: Fact, size: int) -> OperatorCall | None:
    """Return the call that ranked the rows of each sample, of which an index is."""
    for op in iter_first_makers(scene.program, index, FARTHEST):
        call = scene.call(op)
        if call.name in RANKING:
            dim = call.given(1, "dim")
            if call.name == "topk":
                dim = call.given(2, "dim", default=-1)
            shape = op.inputs[0].shape
            if (
                type(dim) is not int
                or len(shape) < 2
                or not index.dtype.startswith("i")
            ):
                return None
            return call if dim % len(shape) and shape[dim] == size else None
        if call.name not in KEEPING:
            return None
    return None
