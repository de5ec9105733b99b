"""Maps of several sizes that are joined, and windows that reach beyond a picture."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.suspect_lines import iter_named_facts
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import JOINED_SIZES_DIFFER, WRITTEN_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText

FEWEST = 3
"""Maps from which on they are those of a pyramid."""


def suggest_one_size_of_maps(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest to bring the maps of a pyramid to the size of the largest before they are
    joined.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != JOINED_SIZES_DIFFER or len(op.inputs) < FEWEST:
        return
    shapes = [fact.shape for fact in op.inputs]
    if any(len(shape) != 4 or shape[0] != shapes[0][0] for shape in shapes):
        return
    place = program.call_at(op.span)
    items = place[1].args[0] if place is not None and place[1].args else None
    parts = items.elts if isinstance(items, ast.List | ast.Tuple) else []
    if place is None or len(parts) != len(shapes):
        return
    text = place[0]
    largest = max(range(len(shapes)), key=lambda at: shapes[at][2])
    if not isinstance(parts[largest], ast.Name):
        return
    size = f"size={text.written(parts[largest])}.shape[2:]"
    function = _get_function(text, "interpolate")
    edits = tuple(
        Edit(text.span(part), f"{function}({text.written(part)}, {size})")
        for part, shape in zip(parts, shapes, strict=True)
        if shape[2:] != shapes[largest][2:]
    )
    shown = f"`{function}(..., {size})` for the smaller maps"
    yield Fix("fits", shown, edits)


def _get_function(text: SourceText, name: str) -> str:
    """Return a function of `torch.nn.functional` as a file can write it."""
    if "functional as F" in text.text:
        return f"F.{name}"
    is_short = "import nn" in text.text or "torch.nn as nn" in text.text
    return f"nn.functional.{name}" if is_short else f"torch.nn.functional.{name}"


def suggest_part_of_window(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `net(patch)[:, :, : crop.shape[2], : crop.shape[3]]` for a window that is
    written where the picture ends before it.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    place = program.node(op.span)
    if unmet is None or unmet.code != WRITTEN_SHAPE or place is None:
        return
    text, node = place
    statement = text.statement_of(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Tuple):
        return
    places = find_tensor_expressions(program, op)
    source = next(
        (
            fact
            for fact, found_at in zip(op.inputs, places, strict=False)
            if found_at is not None and found_at[0] is value
        ),
        op.inputs[-1],
    )
    wanted = unmet.needs if isinstance(unmet.needs, tuple) else None
    for name, fact in iter_named_facts(program, op, text, target).items():
        cut = [
            dim
            for dim, (own, size) in enumerate(
                zip(source.shape, fact.shape, strict=False)
            )
            if dim > 1 and size < own
        ]
        fits = fact.ndim == source.ndim and bool(cut) and fact.tensor != source.tensor
        if not fits or (wanted is not None and fact.shape[2:] != wanted[2:]):
            continue
        parts = [
            f": {name}.shape[{dim}]" if dim > 1 else ":" for dim in range(source.ndim)
        ]
        new = f"{text.written(value)}[{', '.join(parts)}]"
        yield Fix("fits", f"`{new}`", (Edit(text.span(value), new),))
