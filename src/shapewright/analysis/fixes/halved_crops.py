"""Crops and pads of half a difference on both sides, which miss an odd one by 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    JOINED_SIZES_DIFFER,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Op

OF_MAPS = frozenset({BROADCAST_MISMATCH, JOINED_SIZES_DIFFER, TARGET_SHAPE})
PADS = ("pad", "ZeroPad2d")
MOST_STEPS = 4


@dataclass(frozen=True, slots=True)
class _Half:
    """A side of a crop or a pad that is to be written as the rest."""

    text: SourceText
    node: ast.expr
    new: str
    words: str


def suggest_whole_differences(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `[d // 2, d - d // 2]` for `[d // 2, d // 2]`, and `x[..., d : d + size]`
    for `x[..., d:-d]`, where maps differ by one pixel because of it.
    """
    halves = _find_halves(program, failure)
    if not halves:
        return
    edits = tuple(Edit(half.text.span(half.node), half.new) for half in halves)
    shown = f"`{halves[0].new}` for `{halves[0].text.written(halves[0].node)}`"
    yield Fix("fits", join_lines(shown), edits)


def describe_halved_difference(program: Program, failure: Failure) -> Related | None:
    """Return the note that both sides of a crop get the same half."""
    for half in _find_halves(program, failure):
        return Related(half.text.span(half.node), half.words)
    return None


def _find_halves(program: Program, failure: Failure) -> list[_Half]:
    """Return the second sides of the crop of an operand that is one pixel off."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_MAPS or len(op.inputs) < 2:
        return []
    first, second = (fact.shape for fact in op.inputs[:2])
    if len(first) != len(second) or len(first) < 3:
        return []
    pairs = list(zip(first[2:], second[2:], strict=True))
    if max(abs(mine - other) for mine, other in pairs) != 1:
        return []
    for fact in op.inputs[:2]:
        for _ in range(MOST_STEPS):
            maker = program.producers.get(fact.tensor)
            if maker is None or not maker.inputs:
                break
            halves = _read_halves(program, maker)
            if halves:
                return halves
            if maker.name.rpartition(".")[2] != "[]" and maker.kind != "view":
                break
            fact = maker.inputs[0]
    return []


def _read_halves(program: Program, maker: Op) -> list[_Half]:
    """Return the second sides in the text of a call that crops or pads."""
    place = program.node(maker.span)
    if place is None:
        return []
    text, node = place
    if isinstance(node, ast.Call) and get_called_name(node) in PADS:
        return list(_iter_padded(text, node))
    if isinstance(node, ast.Subscript):
        return list(_iter_cropped(text, node))
    return []


# -- pads ------------------------------------------------------------------------------


def _iter_padded(text: SourceText, call: ast.Call) -> Iterator[_Half]:
    """Yield the second of each two equal halves that a pad is given."""
    amounts = [*call.args[1:2], *(w.value for w in call.keywords if w.arg == "pad")]
    for amount in amounts:
        values = [amount]
        if isinstance(amount, ast.Name):
            values = _list_values(text, amount)
        for value in values:
            for part in ast.walk(value):
                elements = part.elts if isinstance(part, ast.List | ast.Tuple) else []
                for first, second in zip(elements[::2], elements[1::2], strict=False):
                    whole = _get_whole(text, first)
                    if whole and text.written(first) == text.written(second):
                        words = f"both sides get `{text.written(first)}` here, which is"
                        words += f" not `{whole}` together where that is odd"
                        new = f"{whole} - {text.written(first)}"
                        yield _Half(text, second, new, words)


def _get_whole(text: SourceText, half: ast.expr) -> str:
    """Return what an expression is half of: `d` of `d // 2`, of a name `d` for it."""
    if not isinstance(half, ast.BinOp) or not isinstance(half.op, ast.FloorDiv):
        return ""
    if evaluate_whole_number(half.right) != 2:
        return ""
    written = text.written(half.left)
    return written if isinstance(half.left, ast.Name | ast.Attribute) else ""


def _list_values(text: SourceText, name: ast.Name) -> list[ast.expr]:
    """Return what a name is set to in its function."""
    scope = text.around(name, *FUNCTIONS)
    return [
        value
        for value in find_defining(text, name.id)
        if text.around(value, *FUNCTIONS) is scope and value.lineno <= name.lineno
    ]


# -- crops -----------------------------------------------------------------------------


def _iter_cropped(text: SourceText, node: ast.Subscript) -> Iterator[_Half]:
    """Yield the ends of the slices that leave off at the end what they do in front."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for item in items:
        if not isinstance(item, ast.Slice) or item.upper is None or item.step:
            continue
        lower = item.lower
        if not isinstance(lower, ast.Name) or not _is_counterpart(item.upper, lower):
            continue
        for value in _list_values(text, lower):
            size = _get_smaller_size(text, value)
            if size:
                words = f"`{text.written(item)}` leaves off `{lower.id}` on both"
                words += " sides, which is one pixel too few where the difference of"
                words += " the sizes is odd"
                yield _Half(text, item.upper, f"{lower.id} + {size}", words)
                break


def _is_counterpart(upper: ast.expr, lower: ast.Name) -> bool:
    """Return whether the end of a slice is `-d`, or a size minus `d`."""
    if isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub):
        end = upper.operand
    elif isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Sub):
        end = upper.right
    else:
        return False
    return isinstance(end, ast.Name) and end.id == lower.id


def _get_smaller_size(text: SourceText, value: ast.expr) -> str:
    """Return the size `b` of `(a - b) // 2`, or of `int((a - b) / 2)`."""
    if isinstance(value, ast.Call) and get_called_name(value) == "int" and value.args:
        value = value.args[0]
    if not isinstance(value, ast.BinOp) or evaluate_whole_number(value.right) != 2:
        return ""
    if not isinstance(value.op, ast.FloorDiv | ast.Div):
        return ""
    whole = value.left
    if isinstance(whole, ast.Name):
        whole = next(iter(_list_values(text, whole)[-1:]), whole)
    if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, ast.Sub):
        return ""
    return text.written(whole.right)
