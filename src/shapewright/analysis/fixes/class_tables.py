"""Rows of an identity, `torch.eye(n)[labels]`, for ids of classes that leave numbers
out: COCO has 80 classes, and ids up to 90.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.class_counts import COUNTS
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_names
from shapewright.analysis.refused_labels import MOST_MORE
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    iter_assignments,
)

IDENTITY = "eye"
VOID = 255
"""What masks hold where there is no class."""


@dataclass(frozen=True, slots=True)
class _Count:
    """`NUM_CLASSES = 80` of a program, for a table with `rows` rows that is read at
    ids up to `most`, by the name `ids`.
    """

    text: SourceText
    number: ast.expr
    name: str
    rows: int
    most: int
    ids: str


def suggest_count_of_ids(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `NUM_CLASSES = 90` where a table of 1 + 80 rows is read at 90."""
    count = _find_count(program, failure)
    value = evaluate_whole_number(count.number) if count is not None else None
    if count is not None and value is not None:
        new = value + count.most + 1 - count.rows
        edit = Edit(count.text.span(count.number), str(new))
        yield Fix("fits", f"`{count.name} = {new}`", (edit,))


def describe_count_of_ids(program: Program, failure: Failure) -> Related | None:
    """Return where the number of classes is written that ids go beyond."""
    count = _find_count(program, failure)
    if count is None:
        return None
    written = count.text.written(count.number)
    words = f"`{count.name}` is {written}, and the ids in {count.ids} go up to"
    words += f" {count.most}: they leave numbers out"
    return Related(count.text.span(count.number), words)


def _find_count(program: Program, failure: Failure) -> _Count | None:
    """Return the only number of classes of which an identity is made that is read
    beyond its last row; None for one row too few, where labels may begin at 1.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or len(op.inputs) < 2:
        return None
    table = op.inputs[0]
    maker = program.producers.get(table.tensor)
    if maker is None or maker.name.rpartition(".")[2] != IDENTITY:
        return None
    rows = table.shape[0]
    largest = [
        other.unmet.most
        for other in program.failures
        if other.unmet is not None
        and other.unmet.code == INDEX_OUT_OF_RANGE
        and other.unmet.most is not None
        and program.trace.ops[other.op].span == op.span
    ]
    most = max(largest, default=0)
    if not rows < most < 2 * rows or most == VOID:
        return None
    counts = [
        (text, value, get_last_name(target))
        for text in program.own_texts()
        for target, value in iter_assignments(text.tree)
        if COUNTS.search(get_last_name(target).lower())
        and isinstance(value, ast.Constant)
        and evaluate_whole_number(value) in (rows, rows - 1)
    ]
    if len(counts) != 1:
        return None
    most = min([end - 1 for end in _iter_ends(program, most)], default=most)
    names = find_tensor_names(program, op)
    ids = names[1] if len(names) > 1 else "the index"
    return _Count(*counts[0], rows, most, ids)


def _iter_ends(program: Program, most: int) -> Iterator[int]:
    """Yield the ends of the ranges of a program, `range(1, 91)`, that go a little
    beyond an id: of those it may draw, not all are seen.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if get_called_name(node) == "range" and isinstance(node, ast.Call):
                is_of_ids = len(node.args) == 2
                end = evaluate_whole_number(node.args[1]) if is_of_ids else None
                if end is not None and most < end <= most + MOST_MORE:
                    yield end
