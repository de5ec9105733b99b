"""Pads that are written for the wrong dims: `F.pad` begins with the last one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    JOINED_SIZES_DIFFER,
    PADDING_PAIRS,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.record.ops import Fact, Op

OF_MAPS = frozenset({BROADCAST_MISMATCH, JOINED_SIZES_DIFFER, TARGET_SHAPE})
"""Codes of calls that want maps of one size."""
FARTHEST = 4
"""Calls between a pad and the call that fails."""


def suggest_swapped_pads(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the pads of the width first, where those of the height stand first and
    the sizes fit the other way round.

    Example: ``F.pad(x, (left, right, top, bottom))`` for ``F.pad(x, (top, bottom, left,
    right))``.
    """
    op = program.trace.ops[failure.op]
    if failure.unmet is None or failure.unmet.code not in OF_MAPS:
        return
    for fact in op.inputs:
        pad = _find_pad(program, fact)
        text_and_call = program.call_at(pad.span) if pad is not None else None
        if pad is None or text_and_call is None or not _is_mended(op, fact, pad):
            continue
        text, call = text_and_call
        pads = _find_pads(text, call)
        if pads is None or len(pads.elts) != 4:
            continue
        words = [join_lines(text.written(part)) for part in pads.elts]
        edits = tuple(
            Edit(text.span(part), words[at - 2]) for at, part in enumerate(pads.elts)
        )
        shown = ", ".join(words[2:] + words[:2])
        yield Fix("fits", f"`({shown})` as pads, the width first", edits)


def suggest_all_pads(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest a pair for each dim behind batch and channels: `reflect` and its kind
    need them all.

    Example: ``F.pad(x, (1, 1, 1, 1), mode="reflect")`` for ``(1, 1)`` of an image.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    text_and_call = program.call_at(op.span)
    if unmet is None or unmet.code != PADDING_PAIRS or text_and_call is None:
        return
    text, call = text_and_call
    pads, ndim = _find_pads(text, call), op.inputs[0].ndim
    if pads is None or any(isinstance(part, ast.Starred) for part in pads.elts):
        return
    words, wanted = [text.line_of(part) for part in pads.elts], 2 * (ndim - 2)
    if len(words) % 2 or not 0 < len(words) < wanted or ndim not in (4, 5):
        return
    repeated = (words * wanted)[:wanted]
    filled = [*words, *["0"] * (wanted - len(words))]
    ways = [repeated, filled] if len(set(words)) == 1 else [filled, repeated]
    for way in ways:
        new = f"({', '.join(way)})"
        yield Fix("fits", f"`{new}` as pads", (Edit(text.span(pads), new),))


def _find_pads(text: SourceText, call: ast.Call) -> ast.Tuple | ast.List | None:
    """Return the pads of a call where they are written, or None."""
    pads: ast.expr | None = next(
        (word.value for word in call.keywords if word.arg == "pad"),
        call.args[1] if len(call.args) > 1 else None,
    )
    if isinstance(pads, ast.Name):
        pads = find_last_value(text, pads, call.lineno + 1)
    return pads if isinstance(pads, ast.Tuple | ast.List) else None


def _find_pad(program: Program, fact: Fact) -> Op | None:
    """Return the call that padded a tensor, if calls that keep its size follow it."""
    for _ in range(FARTHEST):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return None
        if maker.name.rpartition(".")[2] == "pad":
            return maker
        if maker.inputs[0].shape[2:] != fact.shape[2:]:
            return None
        fact = maker.inputs[0]
    return None


def _is_mended(op: Op, fact: Fact, pad: Op) -> bool:
    """Return whether the last two sizes of a padded tensor are those of the others
    where the pads of the two dims are exchanged.
    """
    before, after = pad.inputs[0].shape, pad.outputs[0].shape
    others = {other.shape[-2:] for other in op.inputs if other.tensor != fact.tensor}
    if len(before) < 3 or len(others) != 1 or before[:-2] != after[:-2]:
        return False
    added = tuple(new - old for new, old in zip(after[-2:], before[-2:], strict=True))
    swapped = (before[-2] + added[1], before[-1] + added[0])
    return added[0] != added[1] and others == {swapped}
