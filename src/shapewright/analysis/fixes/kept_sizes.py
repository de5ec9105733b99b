"""Sizes of maps that an encoder keeps for its decoder, which does not read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    JOINED_SIZES_DIFFER,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import collect_names, get_called_name
from shapewright.record.ops import ModuleCall

OF_MAPS = frozenset({BROADCAST_MISMATCH, JOINED_SIZES_DIFFER, TARGET_SHAPE})
SIDES = 2


@dataclass(frozen=True, slots=True)
class _Unread:
    """A `forward` that is given the sizes of maps and reads none of them."""

    text: SourceText
    function: ast.FunctionDef
    name: str
    sizes: list[tuple[int, int]]


def suggest_kept_sizes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `x = conv(x)[..., : sizes[-1 - i][0], : sizes[-1 - i][1]]` for the stages
    of a decoder that gives maps larger than those its encoder had.
    """
    unread = _find_unread(program, failure)
    if unread is None:
        return
    text, sizes = unread.text, unread.sizes
    is_reversed = sizes[0] > sizes[-1]
    for loop, statement, counter in _iter_stages(unread.function):
        call = text.written(statement.value)
        edits = []
        if counter:
            at = f"-1 - {counter}" if is_reversed else counter
            size = f"{unread.name}[{at}]"
        else:
            size = "size" if "size" not in collect_names(unread.function) else "kept"
            order = f"{unread.name}[::-1]" if is_reversed else unread.name
            target, stages = text.written(loop.target), text.written(loop.iter)
            edits = [
                Edit(text.span(loop.target), f"{target}, {size}"),
                Edit(text.span(loop.iter), f"zip({stages}, {order})"),
            ]
        new = f"{call}[..., : {size}[0], : {size}[1]]"
        edits.append(Edit(text.span(statement.value), new))
        yield Fix("fits", f"`{join_lines(new)}`", tuple(edits))
        return


def describe_kept_sizes(program: Program, failure: Failure) -> Related | None:
    """Return the note that a decoder does not read the sizes that it is given."""
    unread = _find_unread(program, failure)
    if unread is None:
        return None
    shown = " and ".join(f"{high} x {wide}" for high, wide in unread.sizes[:SIDES])
    words = f"`{unread.name}` has the sizes of the maps that were halved, such as"
    words += f" {shown}, and nothing reads it here"
    return Related(unread.text.span(unread.function).start, words)


def _find_unread(program: Program, failure: Failure) -> _Unread | None:
    """Return the last module in front of a call of maps of two sizes that was given
    sizes and reads none.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_MAPS or len(op.inputs) < 2:
        return None
    first, second = (fact.shape for fact in op.inputs[:2])
    if len(first) != len(second) or len(first) < 4 or first[-2:] == second[-2:]:
        return None
    for call in reversed(program.trace.calls):
        if call.ops[0] > op.index:
            continue
        for at, value in enumerate(call.inputs[0]):
            sizes = _read_sizes(value)
            unread = _find_parameter(program, call, at, sizes) if sizes else None
            if unread is not None:
                return unread
    return None


def _read_sizes(value: Any) -> list[tuple[int, int]]:
    """Return the heights and widths in a list of several, or an empty list."""
    if not isinstance(value, list | tuple) or len(value) < SIDES:
        return []
    sizes = [tuple(part) for part in value if isinstance(part, list | tuple)]
    pairs = [
        (size[0], size[1])
        for size in sizes
        if len(size) == SIDES and all(type(side) is int for side in size)
    ]
    return pairs if len(pairs) == len(value) and len({*pairs}) > 1 else []


def _find_parameter(
    program: Program, call: ModuleCall, at: int, sizes: list[tuple[int, int]]
) -> _Unread | None:
    """Return the parameter that sizes are given for, if its function does not read it
    and has as many stages as there are sizes.
    """
    for text in program.own_texts():
        for _, definition in text.definitions(call.class_name):
            for function in getattr(definition, "body", []):
                if not isinstance(function, ast.FunctionDef):
                    continue
                arguments = function.args.args[1:]
                if function.name != "forward" or at >= len(arguments):
                    continue
                name = arguments[at].arg
                if name in {n for s in function.body for n in collect_names(s)}:
                    continue
                if any(True for _ in _iter_stages(function)):
                    return _Unread(text, function, name, sizes)
    return None


def _iter_stages(
    function: ast.FunctionDef,
) -> Iterator[tuple[ast.For, ast.Assign, str]]:
    """Yield the loops over stages with the statement `x = stage(x)`, and the name that
    counts the turns.
    """
    for loop in ast.walk(function):
        if not isinstance(loop, ast.For):
            continue
        stage, counter = loop.target, ""
        if get_called_name(loop.iter) == "enumerate" and isinstance(stage, ast.Tuple):
            first, stage = stage.elts[0], stage.elts[-1]
            counter = first.id if isinstance(first, ast.Name) else ""
            if not counter:
                continue
        if not isinstance(stage, ast.Name):
            continue
        for statement in loop.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if not isinstance(value, ast.Call) or not isinstance(statement, ast.Assign):
                continue
            is_stage = isinstance(value.func, ast.Name) and value.func.id == stage.id
            target = statement.targets[0]
            if not is_stage or not isinstance(target, ast.Name):
                continue
            if len(value.args) == 1 and target.id in collect_names(value.args[0]):
                yield loop, statement, counter
                break
