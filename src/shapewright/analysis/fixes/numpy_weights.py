"""Weights in float64 because numpy drew them, for data in float32: `torch.tensor(...,
dtype=torch.float32)` for all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import DTYPE_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name, is_starred
from shapewright.record.ops import Fact, Op

WITH_DTYPE = ("tensor", "as_tensor")
OF_ARRAYS = (*WITH_DTYPE, "from_numpy")
"""Functions that keep the dtype of an array, and those of them that take another."""
FURTHEST = 3_000
"""Calls among which other weights are looked for."""


def suggest_float32_weights(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest float32 for all weights that are made of arrays in float64, where one of
    them meets data in float32.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != DTYPE_MISMATCH:
        return
    has_data = any(
        fact.dtype == "float32" and not fact.requires_grad for fact in op.inputs
    )
    places = _list_weights(program, op) if has_data else []
    if not places:
        return
    first = places[0]
    for other in program.trace.ops[:FURTHEST]:
        if any(map(_is_wide_weight, other.inputs)):
            places += _list_weights(program, other)
    fixes = {
        str(place[0].span(place[1])): _write_float32(*place)
        for place in places
        if _is_beside(place, first)
    }
    edits: tuple[Edit, ...] = tuple(e for fix in fixes.values() for e in fix.edits)
    shown = next(iter(fixes.values())).message
    if len(fixes) > 1:
        count = "both" if len(fixes) == 2 else f"all {len(fixes)}"
        called = f"{count} calls of `{first[0].written(first[1].func)}`"
        is_word = get_called_name(first[1]) in WITH_DTYPE
        shown = f"`dtype=torch.float32` in {called}"
        shown = shown if is_word else f"`.float()` behind {called}"
    yield Fix("fits", shown, edits)


def _list_weights(program: Program, op: Op) -> list[tuple[SourceText, ast.Call]]:
    """Return the calls that made the weights in float64 which a call is given."""
    places: list[tuple[SourceText, ast.Call]] = []
    expressions = find_tensor_expressions(program, op)
    where = program.node(op.span)
    for at, fact in enumerate(op.inputs):
        if not _is_wide_weight(fact):
            continue
        read = expressions[at] if at < len(expressions) else None
        values: list[ast.expr] = []
        if where is not None and read is not None and isinstance(read[0], ast.Name):
            values = find_defining(where[0], read[0].id)
        if len(values) == 1 and where is not None and isinstance(values[0], ast.Call):
            place = where[0], values[0]
        else:
            maker = program.producers.get(fact.tensor)
            known = program.call_at(maker.span) if maker is not None else None
            if known is None:
                continue
            place = known
        if _is_of_array(place[1]):
            places.append(place)
    return places


def _is_wide_weight(fact: Fact) -> bool:
    """Return whether a tensor is to be learned, in float64."""
    return fact.dtype == "float64" and fact.requires_grad


def _is_of_array(call: ast.Call) -> bool:
    """Return whether a call makes a tensor of an array, and does not say its dtype."""
    if get_called_name(call) not in OF_ARRAYS or is_starred(call):
        return False
    has_dtype = any(word.arg == "dtype" for word in call.keywords)
    return len(call.args) == 1 and not has_dtype


def _is_beside(
    place: tuple[SourceText, ast.Call], first: tuple[SourceText, ast.Call]
) -> bool:
    """Return whether a weight is made by the same function in the same file."""
    names = {get_called_name(call) for _, call in (place, first)}
    return place[0].file == first[0].file and len(names) == 1


def _write_float32(text: SourceText, call: ast.Call) -> Fix:
    """Return the fix that makes a tensor in float32."""
    if get_called_name(call) in WITH_DTYPE:
        return with_keyword(text, call, "dtype=torch.float32")
    return append_method(text, call, ".float()")
