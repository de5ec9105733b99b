"""Find tokens that have the number of padding: rows that hold a 0 before they are
filled up with 0, whose embedding keeps row 0 for padding.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.class_labels import EQUALITY
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.padded_rows import PaddedRows, find_padded_rows
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import PADDING_AS_TOKEN, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Op

SAME_NUMBERS = operators_with("is_view", "copies_if_needed", "keeps_elements") | {"to"}
"""Calls after which a token has the number that it had."""
FEWEST = 3
"""Rows of which the numbers are known."""
FARTHEST = 8


@looks_for(PADDING_AS_TOKEN)
def find_padding_as_token(scene: HazardContext) -> Iterator[Finding]:
    """Find padded rows that all hold the number of padding as a token.

    A single row with it may be cut, or filled up before; that all have it, the longest
    too, is how they were numbered.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name != "pad_sequence" or call.op.span in seen:
            continue
        rows = find_padded_rows(scene, call.op)
        if rows is None or not _has_padding_in_all(scene, call.op, rows):
            continue
        reader = _find_reader(scene, call, round(rows.value))
        item = scene.maker(call.op.inputs[0])
        if reader is None:
            continue
        seen.add(call.op.span)
        at = item.op if item is not None and item.op.span is not None else call.op
        number = round(rows.value)
        effect = (
            f"{scene.operation(reader.op)} has row {number} for padding, which stays"
            " zero and is never trained"
            if reader.name == "embedding"
            else "the mask hides these, too"
        )
        message = (
            f"each of these rows holds a {number} of its own, and they are filled up"
            f" with {number}: {effect}"
        )
        yield scene.finding(
            PADDING_AS_TOKEN,
            at,
            message,
            (call.op, f"they are filled up with {number} here"),
            (reader.op, "they are read here"),
        )


def _has_padding_in_all(scene: HazardContext, op: Op, rows: PaddedRows) -> bool:
    """Return whether whole numbers of all rows are known, and the lowest of each row is
    what they are filled up with.
    """
    known = [scene.program.data_values.get(fact.tensor) for fact in op.inputs]
    lowest = [
        values.limits[0]
        for fact, values in zip(op.inputs, known, strict=True)
        if values is not None
        and values.limits is not None
        and not fact.dtype.startswith("float")
    ]
    return len(lowest) >= FEWEST and lowest == [rows.value] * len(rows.lengths)


def _find_reader(
    scene: HazardContext, call: OperatorCall, number: int
) -> OperatorCall | None:
    """Return the embedding that keeps the row of a number for padding, or else the
    comparison with it, that reads what a call has padded.
    """
    tensors, masks = [call.op.outputs[0].tensor], []
    for tensor in tensors[:FARTHEST]:
        for user in scene.users.get(tensor, ()):
            if user.name == "embedding":
                padding = user.given(2, "padding_idx")
                if isinstance(padding, int) and padding == number:
                    return user
            elif user.name in EQUALITY:
                other = user.given(1, "other", default=user.given(0))
                masks += [user] if other == number else []
            elif user.name in SAME_NUMBERS and len(tensors) < FARTHEST:
                tensors.append(user.op.outputs[0].tensor)
    return masks[0] if masks else None
