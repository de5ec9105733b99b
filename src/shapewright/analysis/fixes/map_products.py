"""Products of maps of features, (C, H, W), as they are: a matrix of rows or columns,
where each position was to meet each other one, or each channel each other one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    is_namespace,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with, values_of
from shapewright.operators.failed_calls import Failure
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name
from shapewright.record.ops import Fact, Op

PRODUCTS = operators_with("is_product")
MAPPING = frozenset(values_of("spatial_dims")) | {"interpolate"}
"""Operators whose results are maps of channels."""
RANKS = (3, 4)
"""Dims of one map and of a batch of them."""


def suggest_product_of_positions(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `f.flatten(1).t() @ f.flatten(1)` for `f.permute(1, 2, 0) @ f`, and
    `f.flatten(1) @ f.flatten(1).t()` where the channels stand outside.
    """
    op = program.trace.ops[failure.op]
    left_first = _find_map_product(program, op)
    place = program.node(op.span)
    if left_first is None or place is None or not isinstance(place[1], ast.expr):
        return
    text, node = place
    parts = find_tensor_expressions(program, op)[:2]
    names = [
        _get_map_name(text, part[0], moved) if part is not None else ""
        for part, moved in zip(parts, (left_first, not left_first), strict=False)
    ]
    if len(names) != len(("left", "right")) or not all(names):
        return
    at = op.inputs[0].ndim - RANKS[0] + 1
    left, right = (f"{name}.flatten({at})" for name in names)
    turn = ".t()" if at == 1 else ".transpose(1, 2)"
    left, right = (left + turn, right) if left_first else (left, right + turn)
    new = f"{left} @ {right}"
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute) and is_namespace(func.value):
        new = f"{text.written(func.value)}.matmul({left}, {right})"
    elif not isinstance(text.parent(node), ast.Assign | ast.Return | ast.Call):
        new = f"({new})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _find_map_product(program: Program, op: Op) -> bool | None:
    """Return whether the left of two maps that are multiplied has its channels moved to
    the end, False where the right one has, and None if they are no such maps.
    """
    if op.name.rpartition(".")[2] not in PRODUCTS or len(op.inputs) != 2:
        return None
    left, right = op.inputs
    if left.ndim != right.ndim or left.ndim not in RANKS:
        return None
    origins = [_find_origin(program, fact) for fact in op.inputs]
    moved = [origin is not None for origin in origins]
    if moved.count(True) != 1:
        return None
    shapes = {(origins[0] or left).shape, (origins[1] or right).shape}
    if len(shapes) != 1 or not _is_map(program, shapes.pop()[-3:]):
        return None
    return moved[0]


def _find_origin(program: Program, fact: Fact) -> Fact | None:
    """Return the map whose channels `permute` has moved to the end, or None."""
    maker = program.producers.get(fact.tensor)
    if maker is None or maker.name.rpartition(".")[2] != "permute" or not maker.inputs:
        return None
    shape = maker.inputs[0].shape
    moved = (*shape[:-3], *shape[-2:], shape[-3])
    return maker.inputs[0] if fact.shape == moved else None


def _is_map(program: Program, shape: tuple[int, ...]) -> bool:
    """Return whether a layer has returned maps of a shape, for a batch of images."""
    return any(
        op.name.rpartition(".")[2] in MAPPING
        and any(
            fact.ndim == RANKS[1] and fact.shape[1:] == shape for fact in op.outputs
        )
        for op in program.trace.ops
    )


def _get_map_name(text: SourceText, node: ast.expr, is_moved: bool) -> str:
    """Return the name of a map: `f` of `f`, and of `f.permute(1, 2, 0)` where its
    channels are moved; an empty string for other expressions.
    """
    if is_moved and isinstance(node, ast.Name):
        node = find_last_value(text, node, node.lineno) or node
    if not is_moved:
        return text.written(node) if _is_plain(node) else ""
    if not isinstance(node, ast.Call) or get_called_name(node) != "permute":
        return ""
    owner = get_receiver(node)
    return text.written(owner) if owner is not None and _is_plain(owner) else ""


def _is_plain(node: ast.expr) -> bool:
    """Return whether an expression is a name, or an item of one."""
    if isinstance(node, ast.Subscript):
        return _is_plain(node.value)
    return bool(get_dotted_name(node))


def is_of_rows_of_maps(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a fix goes on to multiply the rows or columns of maps that were to
    be flattened.
    """
    op = program.trace.ops[failure.op]
    if _find_map_product(program, op) is None:
        return False
    both = sum(edit.text.count(".flatten(") for edit in fix.edits)
    return both < len(op.inputs)
