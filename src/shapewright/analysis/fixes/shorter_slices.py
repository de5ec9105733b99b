"""What is cut at another place than it should be: targets that end a step too early,
masks as wide as the longest row of all data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import BROADCAST_MISMATCH, MASK_SHAPE, TARGET_SHAPE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS
from shapewright.record.ops import Fact

RANGES = operators_with("is_range_factory")
OF_MASKS = frozenset({BROADCAST_MISMATCH, MASK_SHAPE})


def suggest_end_of_targets(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `data[i + 1 : i + n + 1]` for `data[i + 1 : i + n]` beside
    `data[i : i + n]`: as many targets as inputs.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code not in (TARGET_SHAPE, BROADCAST_MISMATCH):
        return
    for text in program.own_texts():
        slices = [
            node
            for node in text.nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Slice)
            and node.slice.upper is not None
            and node.slice.step is None
        ]
        for first in slices:
            for second in slices:
                end = _find_same_end(text, first, second)
                if end is not None:
                    edit = Edit(text.span(end).end, " + 1")
                    written = join_lines(text.written(second))
                    shown = f"`{written[:-1]} + 1]`"
                    yield Fix("fits", shown, (edit,))


def _find_same_end(
    text: SourceText, first: ast.Subscript, second: ast.Subscript
) -> ast.expr | None:
    """Return the end of a slice that begins one behind another one of the same rows and
    ends with it.
    """
    left, right = first.slice, second.slice
    if not isinstance(left, ast.Slice) or not isinstance(right, ast.Slice):
        return None
    if text.written(first.value) != text.written(second.value):
        return None
    if left.lower is None or right.lower is None:
        return None
    if left.upper is None or right.upper is None:
        return None
    begins = text.written(left.lower), text.written(right.lower)
    is_behind = begins[1] in (f"{begins[0]} + 1", f"{begins[0]}+1", f"1 + {begins[0]}")
    is_same = text.written(left.upper) == text.written(right.upper)
    return right.upper if is_behind and is_same else None


def suggest_width_of_batch(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.arange(x.size(1))` for `torch.arange(MAX)`, a mask of padding that
    is as wide as the longest row of all data where a batch is as its own.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    sides = find_sides(failure)
    if unmet is None or unmet.code not in OF_MASKS or len(op.inputs) < 2:
        return
    for side in filter(None, sides):
        wide = op.inputs[side[0]].shape[side[1]]
        narrow = [
            op.inputs[other[0]].shape[other[1]]
            for other in sides
            if other is not None and other is not side
        ]
        fact = op.inputs[side[0]]
        maker = program.producers.get(fact.tensor)
        makers = [] if maker is None else [maker, *iter_makers(program, maker)]
        for origin in makers:
            place = program.call_at(origin.span)
            if origin.name.rpartition(".")[2] not in RANGES or place is None:
                continue
            if origin.outputs[0].shape != (wide,) or len(place[1].args) != 1:
                continue
            name = _find_padded(program, *place, narrow)
            if name:
                argument = place[1].args[0]
                edit = Edit(place[0].span(argument), name)
                whole = _write_call(place[0], place[1], argument, name)
                yield Fix("fits", f"`{whole}`", (edit,))
                return


def _write_call(text: SourceText, call: ast.Call, argument: ast.expr, new: str) -> str:
    """Return a call with another argument, on one line."""
    written, old = text.written(call), text.written(argument)
    return join_lines(written.replace(f"({old}", f"({new}", 1))


def _find_padded(
    program: Program, text: SourceText, call: ast.Call, sizes: list[int]
) -> str:
    """Return the size of what the function around a call pads, as an expression."""
    scope = text.around(call, *FUNCTIONS) or text.tree
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        target, span = node.targets[0], text.span(node.value)
        if not isinstance(target, ast.Name):
            continue
        facts: list[Fact] = [
            fact
            for op in program.trace.ops
            if op.span == span and op.name.endswith("pad_sequence")
            for fact in op.outputs
        ]
        for fact in facts:
            dims = [dim for dim, size in enumerate(fact.shape[:2]) if size in sizes]
            if len(dims) == 1:
                return f"{target.id}.size({dims[0]})"
    return ""
