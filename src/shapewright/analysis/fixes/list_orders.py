"""Layers of a list whose sizes are those of what they are given, in another order:
laterals by `channels` for maps from the smallest on, tables for other columns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import (
    CHANNEL_MISMATCH,
    INDEX_OUT_OF_RANGE,
    INNER_DIM_MISMATCH,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines

OF_SIZES = frozenset({CHANNEL_MISMATCH, INNER_DIM_MISMATCH})
FEWEST = 2
"""Layers from which a list has an order."""


def suggest_reversed_sizes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `for c in channels[::-1]` where each layer of a list fits what another
    one at the mirrored place is given.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_SIZES:
        return
    numbered = re.fullmatch(r"(.+)\.\d+((?:\.\D.*)?)", op.module)
    if numbered is None:
        return
    wanted, got = _collect_sizes(program, *numbered.groups())
    is_turned = wanted == got[::-1] and wanted != got
    place = find_constructor(program, op.module) if is_turned else None
    if place is None:
        return
    text, call = place
    for source in _iter_lists(text, call):
        if isinstance(source, ast.Name | ast.Attribute | ast.Subscript):
            written = text.written(source)
            edit = Edit(text.span(source).end, "[::-1]")
            yield Fix("fits", f"`{join_lines(written)}[::-1]`", (edit,))


def _collect_sizes(
    program: Program, before: str, behind: str
) -> tuple[list[int], list[int]]:
    """Return the sizes that the layers of a list expect, and those that they are given,
    as far as each is called once in the first turn.
    """
    sizes: dict[int, tuple[int, int]] = {}
    failures = {failure.op: failure for failure in program.failures}
    for op in program.trace.ops:
        numbered = re.fullmatch(
            rf"{re.escape(before)}\.(\d+){re.escape(behind)}", op.module
        )
        if numbered is None or int(numbered[1]) in sizes:
            continue
        weight = next(
            (fact for fact in op.inputs[1:] if fact.tensor in program.states), None
        )
        if weight is None or weight.ndim < 2 or not op.inputs[0].shape:
            continue
        failed = failures.get(op.index)
        sides = find_sides(failed) if failed is not None else (None, None)
        dim = (
            sides[1][1]
            if sides[1] is not None
            else _find_dim(op.inputs[0].shape, weight.shape)
        )
        if dim is not None:
            pair = weight.shape[1], op.inputs[0].shape[dim]
            sizes[int(numbered[1])] = pair
    if len(sizes) < FEWEST or sorted(sizes) != list(range(len(sizes))):
        return [], []
    pairs = [sizes[at] for at in range(len(sizes))]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _find_dim(shape: tuple[int, ...], weight: tuple[int, ...]) -> int | None:
    """Return the dim of an input that a weight of this shape reads."""
    if len(weight) > 2:
        return len(shape) - len(weight) + 1 if len(shape) >= len(weight) - 1 else None
    return len(shape) - 1


def _iter_lists(text: SourceText, call: ast.Call) -> Iterator[ast.expr]:
    """Yield the list over which layers are built: of a comprehension, of a loop."""
    node: ast.AST | None = call
    while node is not None:
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield node.generators[0].iter
            return
        if isinstance(node, ast.For):
            yield node.iter
            return
        node = text.parent(node)


def suggest_order_of_columns(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the sizes of a list of tables in the order of the columns that they read,
    where they fit in one order.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    numbered = re.fullmatch(r"(.+)\.\d+", op.module)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or numbered is None:
        return
    rows: dict[int, int] = {}
    for module in program.built:
        sibling = re.fullmatch(rf"{re.escape(numbered[1])}\.(\d+)", module)
        values = [value for *_, value in iter_arguments(program, module)]
        shapes = [
            other.inputs[1].shape
            for other in program.trace.ops
            if other.module == module and len(other.inputs) > 1
        ]
        if sibling is not None and values and shapes:
            rows[int(sibling[1])] = shapes[0][0]
    sizes = [rows[at] for at in sorted(rows)]
    for values_of_table in program.data_values.values():
        largest = values_of_table.columns
        if len(largest) != len(sizes) or len(sizes) < FEWEST:
            continue
        order = sorted(range(len(sizes)), key=largest.__getitem__)
        meant = dict(zip(order, sorted(sizes), strict=True))
        if all(largest[at] < size for at, size in meant.items()):
            yield from _write_order(
                program, sizes, [meant[n] for n in range(len(sizes))]
            )
            return


def _write_order(program: Program, sizes: list[int], meant: list[int]) -> Iterator[Fix]:
    """Yield the edits of lists and dicts of these sizes."""
    if len({*sizes}) != len(sizes):
        return
    for text in program.own_texts():
        for node in text.nodes:
            parts: list[ast.expr] = []
            written: list[str] = []
            if isinstance(node, ast.List | ast.Tuple):
                parts, written = node.elts, [text.written(part) for part in node.elts]
            elif isinstance(node, ast.Dict) and None not in node.keys:
                parts = node.values
                written = [
                    f"{text.written(key)}: {text.written(value)}"
                    for key, value in zip(node.keys, node.values, strict=True)
                    if key is not None
                ]
            if [evaluate_whole_number(part) for part in parts] != sizes:
                continue
            if not isinstance(node, ast.expr):
                continue
            new = ", ".join(written[sizes.index(size)] for size in meant)
            new = f"{text.written(node)[0]}{new}{text.written(node)[-1]}"
            yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
