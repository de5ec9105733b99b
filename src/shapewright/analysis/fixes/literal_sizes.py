"""Sizes in numbers where a tensor is expanded, which those of the tensor that it meets
are: `feat.size(2), feat.size(3)` for `4, 4`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.scope_tensors import list_scope_facts
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import BROADCAST_MISMATCH, JOINED_SIZES_DIFFER
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.record.ops import Fact, Op

COPYING = frozenset({"expand", "repeat"})
"""Operators that copy one element along a dim as often as they are asked to."""


def suggest_read_sizes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `std.expand(n, 1, feat.size(2), feat.size(3))` for `std.expand(n, 1, 4,
    4)` where the copies are to be joined or combined with `feat` of another size.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    codes = (JOINED_SIZES_DIFFER, BROADCAST_MISMATCH)
    if unmet is None or unmet.code not in codes or len(op.inputs) < 2:
        return
    kept = _find_joined_dim(op) if unmet.code == JOINED_SIZES_DIFFER else None
    for fact in op.inputs:
        maker = program.producers.get(fact.tensor)
        place = program.call_at(maker.span) if maker is not None else None
        if maker is None or place is None or not maker.inputs:
            continue
        if maker.name.rpartition(".")[2] not in COPYING:
            continue
        for other in op.inputs:
            dims = [
                dim
                for dim, sizes in enumerate(zip(fact.shape, other.shape, strict=False))
                if dim != kept and sizes[0] != sizes[1]
            ]
            if other.ndim == fact.ndim and dims and 1 not in other.shape[dims[0] :]:
                yield from _read_sizes(program, maker, place, other, fact, dims)


def _find_joined_dim(op: Op) -> int | None:
    """Return the dim along which a call joins tensors."""
    dims = [value for key, value in op.arguments if key in ("1", "dim", "axis")]
    dim = dims[0] if dims and type(dims[0]) is int else 0
    return dim % op.inputs[0].ndim if op.inputs[0].ndim else None


def _read_sizes(
    program: Program,
    maker: Op,
    place: tuple[SourceText, ast.Call],
    other: Fact,
    fact: Fact,
    dims: list[int],
) -> Iterator[Fix]:
    """Suggest sizes of a tensor that the line knows by name in place of numbers, where
    one element is copied along each of the dims.
    """
    text, call = place
    nodes = _list_sizes(call)
    first = len(nodes) - fact.ndim
    before = maker.inputs[0].shape
    alone = all(before[dim - fact.ndim :][:1] in ((), (1,)) for dim in dims)
    alone = alone and len(before) <= fact.ndim and first >= 0
    numbers = [evaluate_whole_number(nodes[first + dim]) for dim in dims if alone]
    if not alone or numbers != [fact.shape[dim] for dim in dims]:
        return
    scope = list_scope_facts(program, maker, text, call)
    shapes = {name: known.shape for name, known in scope.items() if name.isidentifier()}
    read = text.written(call)
    names = [name for name, shape in shapes.items() if shape == other.shape]
    names.sort(key=lambda name: f"{name}." not in read)  # that is read there already
    for name in names[:1]:
        edits = [
            Edit(text.span(nodes[first + dim]), f"{name}.size({dim})") for dim in dims
        ]
        written = [text.written(node) for node in nodes]
        for dim in dims:
            written[first + dim] = f"{name}.size({dim})"
        start = join_lines(text.written(call.func))
        yield Fix("fits", f"`{start}({', '.join(written)})`", tuple(edits))


def _list_sizes(call: ast.Call) -> list[ast.expr]:
    """Return the sizes that a call is given, one by one or as a tuple."""
    last = call.args[-1] if call.args else None
    return last.elts if isinstance(last, ast.Tuple | ast.List) else call.args
