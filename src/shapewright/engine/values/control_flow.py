"""Control flow that depends on unknown data: loops that wait for it, errors of checks.

`while mask.any(): ...` would never end if the truth were always the same. The loops
that depend on a read are found in the source (`program/loop_conditions.py`); any other
read keeps its answer, however often it is repeated.

A number, truth or array that was read from unknown data is followed through the
functions on the way to the error: names assigned from it, arguments built from it, and
objects that hold it. The source is followed function by function: values in containers
and in globals of other functions are not seen, and such an error is reported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from shapewright.engine.call_sites import OURS, TORCH, get_source
from shapewright.program.expression_values import SIGNED, UnknownValue, evaluate_node
from shapewright.program.loop_conditions import (
    NOTHING,
    Function,
    NameFlow,
    Waiting,
    find_path,
    find_waiting_at,
)
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import list_arguments

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.suppositions import ChosenValues, Waits


TURNS = 3
"""Turns of an endless loop before a truth that it waits for is inverted."""
NUMBERS = 16
"""Turns for a number, which is used for more than to end a loop."""
CALLED = 64
"""Turns if the loop is in a caller of the function that reads."""
BOUNDED = 256
"""Turns for a loop with an end of its own, which most are left to reach."""
DEEPEST = 12
"""Maximum number of callers that are searched for a loop."""


def _find_ending_loop(
    waits: Waits, truth: bool
) -> tuple[FrameType, Waiting, int] | None:
    """Return the loop that this read has to end, and how often one did before.

    Return None if no loop waits for the read, or if the loop may wait longer.
    """
    waiting_frame = _find_waiting_frame()
    if waiting_frame is None:
        return None
    reader, frame, waiting, patience = waiting_frame
    if not truth and patience == TURNS:
        patience = NUMBERS
    key = (reader.f_code, _get_span(reader.f_code, reader.f_lasti))
    count = waits.asked[key] = waits.asked.get(key, 0) + 1
    if count <= patience:
        return None
    waits.asked[key] = 0
    before = waits.ended.get(key, 0)
    waits.ended[key] = before + 1
    return frame, waiting, before


def is_loop_over(engine: Engine) -> bool:
    """Return whether the loop that waits for this truth value has run often enough."""
    return _find_ending_loop(engine.waits, truth=True) is not None


def choose_number(engine: Engine, usual: Any, least: float, most: float) -> Any:
    """Return the value of a number: the usual value, or a value that ends the loop.

    It stays between `least` and `most`, the bounds of the call that computed it.
    """
    turned = _find_ending_loop(engine.waits, truth=False)
    if turned is None:
        return usual
    frame, waiting, before = turned
    choices: list[Any] = []
    for number in _find_compared_numbers(frame, waiting):
        near = number / 2, number * 2  # on both sides, of the same sign
        choices += number, *(near if isinstance(usual, float) else ())
        choices += number - 1, number + 1
    choices += 0, -1, 1
    choices = [choice for choice in choices if least <= choice <= most] or [usual]
    return type(usual)(choices[before % len(choices)])


def _find_compared_numbers(frame: FrameType, waiting: Waiting) -> list[float]:
    """Return the plain numbers with which the condition of a loop compares a read."""
    numbers: list[float] = []
    for side in waiting.compared:
        value: Any = None
        if isinstance(side, ast.Name):
            value = frame.f_locals.get(side.id, frame.f_globals.get(side.id))
        else:
            with suppress(UnknownValue, TypeError):
                value = evaluate_node(side, operators=SIGNED)
        if type(value) in (int, float) and abs(value) < 1 << 53:
            numbers.append(value)
    return numbers


def _find_waiting_frame() -> tuple[FrameType, FrameType, Waiting, int] | None:
    """Return the reading frame, the frame whose loop waits, why, and for how long.

    No loop outside of torch waits for what torch reads in its own checks.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    reader = frame
    if reader is None:
        return None
    inside = reader.f_code.co_filename.startswith(TORCH)
    for _ in range(DEEPEST):
        while frame is not None and _is_skipped(frame, inside):
            frame = frame.f_back
        if frame is None or inside != frame.f_code.co_filename.startswith(TORCH):
            return None
        waiting = _find_waiting(frame.f_code, frame.f_lasti)
        if waiting.endless:
            return reader, frame, waiting, TURNS if frame is reader else CALLED
        if waiting.bounded:
            return reader, frame, waiting, BOUNDED
        if not waiting.returned:
            return None
        frame = frame.f_back
    return None


def _is_skipped(frame: FrameType, inside: bool) -> bool:
    """Return whether a frame only passes a call on: ours, or torch's in between."""
    name = frame.f_code.co_filename
    return name.startswith(OURS) or (not inside and name.startswith(TORCH))


def _get_span(code: CodeType, offset: int) -> tuple[int | None, ...]:
    """Return line, end line, column and end column of an instruction."""
    for number, place in enumerate(code.co_positions()):
        if number == offset // 2:
            return place
    return (None,) * 4


_seen: dict[tuple[int, int], tuple[CodeType, Waiting]] = {}


def _find_waiting(code: CodeType, offset: int) -> Waiting:
    """Return what waits for the instruction at an offset, cached by code identity."""
    cached = _seen.get((id(code), offset))
    if cached is not None and cached[0] is code:
        return cached[1]
    waiting = NOTHING
    line, end_line, column, end_column = _get_span(code, offset)
    tree = _parse_file(code.co_filename)
    if tree is not None and None not in (line, end_line, column, end_column):
        place: Any = (line, column, end_line, end_column)
        waiting = find_waiting_at(tree, place)
    _seen[id(code), offset] = code, waiting
    return waiting


def _parse_file(filename: str) -> ast.Module | None:
    """Return a file's syntax tree, or None if it has no source or is not Python."""
    source = get_source(filename)
    return SourceText(filename, source.text).tree if source and source.text else None


def is_condition_assumed(engine: Engine, error: BaseException) -> bool:
    """Return whether the condition that led to an error reads an assumed value."""
    chosen = engine.chosen
    if not chosen.places or not isinstance(error, Exception):
        return False
    frames: list[tuple[FrameType, int]] = []
    where = error.__traceback__
    while where is not None:
        if not where.tb_frame.f_code.co_filename.startswith(OURS):
            frames.append((where.tb_frame, where.tb_lasti))
        where = where.tb_next
    names: set[str] = set()
    for number, (frame, offset) in enumerate(frames):
        tree = _parse_file(frame.f_code.co_filename)
        if tree is None:
            names = set()
            continue
        flow, inside = _follow_values(chosen, tree, frame, offset, names)
        if number == len(frames) - 1:
            return any(
                flow.touches(condition) for condition in _collect_conditions(inside)
            )
        names = _find_parameters(flow, inside, frames[number + 1][0])
    return False


def _follow_values(
    chosen: ChosenValues,
    tree: ast.Module,
    frame: FrameType,
    offset: int,
    names: set[str],
) -> tuple[NameFlow, list[ast.AST]]:
    """Return the names that hold assumed values, and the instruction's nodes."""
    code = frame.f_code
    path = find_path(tree, _get_position(code, offset))
    cuts = [i for i, node in enumerate(path) if isinstance(node, Function)]
    inside = path[cuts[-1] :] if cuts else path
    reads = [
        find_path(tree, _get_position(part, instruction))[-1]
        for part in _iter_inner_code(code)
        for instruction in chosen.places.get(part, ())
    ]
    held = {
        name
        for name, value in frame.f_locals.items()
        if chosen.objects.get(id(value)) is value and id(value) in chosen.objects
    }
    owner = frame.f_locals.get("self")
    kept = vars(owner) if hasattr(owner, "__dict__") else {}
    held |= {
        f"self.{name}" for name, value in kept.items() if id(value) in chosen.objects
    }
    return NameFlow(inside[0], *reads, names=names | held), inside


def _iter_inner_code(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the comprehensions and lambdas in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType) and part.co_name.startswith("<"):
            yield from _iter_inner_code(part)


def _get_position(code: CodeType, offset: int) -> Any:
    """Return the position of an instruction in the order that syntax trees use."""
    line, end_line, column, end_column = _get_span(code, offset)
    return line or 0, column or 0, end_line or 0, end_column or 0


def _collect_conditions(inside: list[ast.AST]) -> list[ast.AST]:
    """Return the conditions that lead to a statement, and its own expressions."""
    conditions: list[ast.AST] = [
        node.test
        for node in inside
        if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp)
    ]
    statement = next(n for n in reversed(inside) if isinstance(n, ast.stmt | ast.mod))
    if isinstance(statement, ast.Raise):
        block = _find_blocks_before(inside, statement)
        return conditions + block
    last = inside[-1]
    if isinstance(last, ast.For):
        last = last.iter  # what is done in the loop has not been reached
    return [*conditions, last]


def _find_blocks_before(inside: list[ast.AST], statement: ast.Raise) -> list[ast.AST]:
    """Return the earlier conditions in a block under which a `raise` is not reached."""
    for node in reversed(inside):
        body = getattr(node, "body", None)
        if isinstance(body, list) and statement in body:
            before = body[: body.index(statement)]
            leaves = (ast.Return, ast.Continue, ast.Break)
            return [
                earlier.test
                for earlier in before
                if isinstance(earlier, ast.If)
                and any(isinstance(inner, leaves) for inner in ast.walk(earlier))
            ]
    return []


def _find_parameters(
    flow: NameFlow, inside: list[ast.AST], called: FrameType
) -> set[str]:
    """Return the parameters that receive a call's assumed arguments."""
    call = inside[-1]
    code = called.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    if not isinstance(call, ast.Call):
        return set(names) - {"self"} if flow.touches(call) else set()
    if not any(flow.touches(argument) for argument in list_arguments(call)):
        return set()
    bound = 1 if names[:1] in (("self",), ("cls",)) else 0
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if starred or code.co_filename.startswith(TORCH):
        return set(names) - {"self"}
    placed = zip(names[bound:], call.args, strict=False)
    parameters = {name for name, argument in placed if flow.touches(argument)}
    return parameters | {
        keyword.arg
        for keyword in call.keywords
        if keyword.arg and flow.touches(keyword.value)
    }
