"""Find masks of the whole numbers 0 and 1 that are used as an index: it takes the rows
0 and 1 again and again, where those that are marked are meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import FLOAT_MASK
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact, Op

WHOLE = ("int64", "int32")
"""Dtypes of an index of rows; `uint8` is a mask."""
FILLED = frozenset(
    name for name, number in values_of("fills_with").items() if number in (0, 1)
)
CASTS = operators_with("keeps_elements") | {"to", "type"}
MARK = re.compile(
    r"mask|train|valid|val\b|test|keep|select|flag|(^|[_.])is_|known|labell?ed"
)
"""Words for what says of each row whether it is meant."""
PAIR = 2
"""Rows of a table of which numbers 0 and 1 choose one."""


def find_number_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find indices of 0 and 1 that have a number for each row of what they index."""
    seen: set[object] = set()
    for call in scene.calls:
        mask = _get_index(call)
        if mask is None or mask.tensor in seen:
            continue
        values, name = call.op.inputs[0], scene.words(call.op)[1]
        maker = _find_maker_of_marks(scene, mask, name)
        if maker is None:
            continue
        seen.add(mask.tensor)
        verb = "taken" if call.op.name == "[]" else "written"
        message = (
            f"{name} {format_shape(mask)} holds the whole numbers 0 and 1, which an"
            f" index takes for rows: the rows 0 and 1 of {scene.words(call.op)[0]}"
            f" {format_shape(values)} are {verb} again and again, and not those that"
            " are marked"
        )
        yield scene.finding(
            FLOAT_MASK, call.op, message, (maker, "its numbers are made here")
        )


def _get_index(call: OperatorCall) -> Fact | None:
    """Return the one index of whole numbers of a call that has the shape of the first
    dims of what it indexes, or None.
    """
    op = call.op
    if op.name not in ("[]", "[]=") or len(op.inputs) < 2 or op.span is None:
        return None
    if "1" in dict(op.arguments) or (op.name == "[]" and len(op.inputs) > 2):
        return None
    values, index = op.inputs[:2]
    has_rows = values.shape[0] > PAIR if values.shape else False
    if index.dtype not in WHOLE or not index.shape or not has_rows:
        return None
    is_alike = index.shape == values.shape[: len(index.shape)]
    return index if is_alike and prod(index.shape) > PAIR else None


def _find_maker_of_marks(scene: HazardContext, mask: Fact, name: str) -> Op | None:
    """Return the call that made numbers 0 and 1 where truths are meant: a cast of
    truths, zeros into which ones are written, or data that are named so.
    """
    maker = scene.maker(mask)
    if maker is None or maker.op.span is None:
        return None
    writes = scene.writes.get(mask.storage, [])
    if maker.name in FILLED:
        numbers = [dict(write.op.arguments).get("2") for write in writes]
        is_marked = bool(writes) and all(n in (0, 1) for n in numbers)
        return maker.op if is_marked else None
    if writes:
        return None
    sources = maker.op.inputs
    if maker.name in CASTS and sources and sources[0].dtype == "bool":
        return maker.op
    values = scene.program.data_values.get(mask.tensor)
    is_of_marks = values is not None and values.kinds == (0, 1)
    return maker.op if is_of_marks and MARK.search(name.lower()) else None
