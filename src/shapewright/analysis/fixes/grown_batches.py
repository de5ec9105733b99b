"""Batches that a view with written sides makes larger or smaller: tokens that are
viewed as a grid of another size, where `-1` takes the rest for samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, prod

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import is_installed
from shapewright.record.ops import Op

VIEWS = operators_with("regroups_dims")


@dataclass(frozen=True, slots=True)
class _Grown:
    """A view that gives a batch another size, and the side that would keep it."""

    op: Op
    text: SourceText
    call: ast.Call
    sides: tuple[ast.expr, ast.expr]
    side: int


def suggest_side_of_grid(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `tokens.reshape(-1, 32, 32, dim)` for `tokens.reshape(-1, 16, 16, dim)`,
    where each sample has 32·32 tokens and the batch became four times as large.
    """
    grown = _find_grown(program, failure)
    if grown is None:
        return
    text, (first, second), new = grown.text, grown.sides, str(grown.side)
    edits = tuple(Edit(text.span(side), new) for side in (first, second))
    written = [
        new if part in grown.sides else text.written(part) for part in grown.call.args
    ]
    shown = f"{text.written(grown.call.func)}({', '.join(written)})"
    yield Fix("fits", f"`{join_lines(shown)}`", edits)


def describe_grown_batch(program: Program, failure: Failure) -> Related | None:
    """Return the note where a view takes parts of samples for samples."""
    grown = _find_grown(program, failure)
    if grown is None:
        return None
    before, after = grown.op.inputs[0].shape, grown.op.outputs[0].shape
    written, side = grown.text.written(grown.sides[0]), grown.side
    message = (
        f"{before[0]} samples become {after[0]} here: each has {side}·{side} places,"
        f" and {written}·{written} are written"
    )
    return Related(grown.text.span(grown.call), message)


def _find_grown(program: Program, failure: Failure) -> _Grown | None:
    """Return the last view before a failing call that gave the batch which the call
    reads, or is told of, another size.
    """
    op = program.trace.ops[failure.op]
    sizes = {fact.shape[0] for fact in op.inputs if fact.shape}
    for _, value in op.arguments:
        numbers = value if isinstance(value, tuple | list) else [value]
        sizes |= {number for number in numbers if type(number) is int}
    for maker in reversed(program.trace.ops[: failure.op]):
        if maker.name.rpartition(".")[2] not in VIEWS or not maker.inputs:
            continue
        if maker.span is None or is_installed(maker.span.file):
            continue
        before, after = maker.inputs[0].shape, maker.outputs[0].shape
        if after[:1] == before[:1] or len(after) < 4 or len(before) < 3:
            continue
        if after[0] in sizes and after[0] > 1:
            return _measure_view(program, maker)
    return None


def _measure_view(program: Program, maker: Op) -> _Grown | None:
    """Return the two written sides of a view and the side of what each sample has."""
    place = program.call_at(maker.span)
    if place is None or place[1].keywords or len(place[1].args) < 4:
        return None
    text, call = place
    before, after = maker.inputs[0].shape, maker.outputs[0].shape
    if len(call.args) != len(after) or ast.unparse(call.args[0]) != "-1":
        return None
    sizes = list(zip(call.args, after, strict=True))[1:]
    pairs = [
        (first, second)
        for (first, size), (second, other) in pairwise(sizes)
        if size == other and ast.dump(first) == ast.dump(second)
    ]
    if len(pairs) != 1:
        return None
    sides = {id(part) for part in pairs[0]}
    rest = prod(size for part, size in sizes if id(part) not in sides)
    places, left = divmod(prod(before[1:]), rest)
    side = isqrt(places)
    if left or side * side != places or side < 2:
        return None
    return _Grown(maker, text, call, pairs[0], side)
