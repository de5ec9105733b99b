"""Find what joins sequences of several lengths, each filled up behind its end: by
`pad_sequence`, by `stack` of what `pad` returns, or row by row into zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.operators.facts import values_of
from shapewright.record.ops import Op

FILLED = values_of("fills_with")


@dataclass(frozen=True, slots=True)
class PaddedRows:
    """How many entries of each row are its own, and what the others hold."""

    lengths: tuple[int, ...]
    value: float


def find_padded_rows(scene: HazardContext, op: Op) -> PaddedRows | None:
    """Return the rows that a call pads and joins, if their lengths differ, or None."""
    name = op.name.rpartition(".")[2]
    rows = None
    if name == "pad_sequence":
        arguments = dict(op.arguments)
        side = arguments.get("3", arguments.get("padding_side", "right"))
        value = arguments.get("2", arguments.get("padding_value", 0))
        lengths = tuple(fact.shape[0] for fact in op.inputs if fact.shape)
        rows = PaddedRows(lengths, _get_number(value)) if side == "right" else None
    elif name == "stack":
        rows = _find_stacked_rows(scene, op)
    elif (name in FILLED or name == "full") and not op.inputs and op.outputs:
        rows = _find_written_rows(scene, op, name)
    return rows if rows is not None and len(set(rows.lengths)) > 1 else None


def _get_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _find_stacked_rows(scene: HazardContext, op: Op) -> PaddedRows | None:
    """Return the rows of `stack([pad(row, (0, n)) for row in rows])`."""
    if dict(op.arguments).get("1", dict(op.arguments).get("dim", 0)) != 0:
        return None
    lengths, values = [], set[float]()
    for fact in op.inputs:
        maker = scene.maker(fact)
        if maker is None:
            return None
        if maker.name != "pad":
            lengths.append(fact.shape[0] if fact.shape else 0)
            continue
        amounts = maker.given(1, "pad", default=())
        mode = maker.given(2, "mode", default="constant")
        rank = len(maker.op.inputs[0].shape)
        if mode != "constant" or not isinstance(amounts, list | tuple):
            return None
        behind = [0] * (2 * rank - 1) + [amounts[-1] if amounts else 0]
        if not rank or list(amounts) != behind:
            return None
        lengths.append(maker.op.inputs[0].shape[0])
        values.add(_get_number(maker.given(3, "value", default=0)))
    return PaddedRows(tuple(lengths), values.pop()) if len(values) == 1 else None


def _find_written_rows(scene: HazardContext, op: Op, name: str) -> PaddedRows | None:
    """Return the rows that are written one by one into what a factory made."""
    out = op.outputs[0]
    lengths = scene.row_writes.get(out.storage, ())
    if len(out.shape) < 2 or not 1 < len(lengths) <= out.shape[0]:
        return None
    if max(lengths) > out.shape[1]:
        return None
    value = dict(op.arguments).get("1") if name == "full" else FILLED.get(name)
    return PaddedRows(tuple(lengths), _get_number(value))
