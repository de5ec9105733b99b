"""Find packed sequences that are padded with other dims first than they came with."""

from __future__ import annotations

from shapewright.analysis.program_run import Program
from shapewright.record.ops import Fact, Op

FARTHEST = 20
"""Calls between a padded sequence and its use."""


def find_turned_sequence(program: Program, fact: Fact) -> Op | None:
    """Return the `pad_packed_sequence` that put the steps first, where the sequence was
    packed with the samples first.

    Example: (B, T, F) is packed with `batch_first=True` and padded without: (T, B, H).
    """
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return None
        if maker.name.endswith("_pad_packed_sequence"):
            return maker if _is_turned(program, maker) else None
        fact = maker.inputs[0]
    return None


def _is_turned(program: Program, padded: Op) -> bool:
    lengths = program.producers.get(padded.inputs[1].tensor)
    packed = lengths is not None and lengths.name.endswith("_pack_padded_sequence")
    first = packed and lengths is not None and dict(lengths.arguments).get("2")
    return bool(first) and not dict(padded.arguments).get("2")
