"""Errors of a program's own checks that rest on values which were only supposed.

A number, truth or array that was read of unknown data is followed through the functions
on the way to the error: names assigned from it, arguments made of it, and objects that
hold it. What is followed is text, one function at a time: through containers and
globals of other functions nothing is seen, and such an error stays one.
"""

from __future__ import annotations

import ast
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from shapewright.engine.call_sites import OURS, TORCH
from shapewright.engine.values.endless_loops import place_at, tree_of
from shapewright.program.loop_conditions import Flow, Function, path_to

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.suppositions import Chosen

MOST = 4096
"""Objects that are remembered as made of unknown data."""


def rests_on_chosen(engine: Engine, error: BaseException) -> bool:
    """Whether the condition of an error reads a value that was supposed."""
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
        tree = tree_of(frame.f_code.co_filename)
        if tree is None:
            names = set()
            continue
        flow, inside = followed(chosen, tree, frame, offset, names)
        if number == len(frames) - 1:
            return any(flow.touches(each) for each in conditions(inside))
        names = passed_on(flow, inside, frames[number + 1][0])
    return False


def followed(
    chosen: Chosen, tree: ast.Module, frame: FrameType, offset: int, names: set[str]
) -> tuple[Flow, list[ast.AST]]:
    """What chosen values flow into in a frame, and the nodes around its instruction."""
    code = frame.f_code
    path = path_to(tree, place_of(code, offset))
    cuts = [i for i, node in enumerate(path) if isinstance(node, Function)]
    inside = path[cuts[-1] :] if cuts else path
    reads = [
        path_to(tree, place_of(code, each))[-1] for each in chosen.places.get(code, ())
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
    return Flow(inside[0], *reads, names=names | held), inside


def place_of(code: CodeType, offset: int) -> Any:
    """The place of an instruction, as trees count."""
    line, end_line, column, end_column = place_at(code, offset)
    return line or 0, column or 0, end_line or 0, end_column or 0


def conditions(inside: list[ast.AST]) -> list[ast.AST]:
    """The conditions under which a statement is met, and what it computes itself."""
    found: list[ast.AST] = [
        node.test
        for node in inside
        if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp)
    ]
    statement = next(n for n in reversed(inside) if isinstance(n, ast.stmt | ast.mod))
    if isinstance(statement, ast.Raise):
        block = blocks_before(inside, statement)
        return found + block
    return [*found, inside[-1]]


def blocks_before(inside: list[ast.AST], statement: ast.Raise) -> list[ast.AST]:
    """Conditions by which a `raise` at the end of a function is not met."""
    for node in reversed(inside):
        body = getattr(node, "body", None)
        if isinstance(body, list) and statement in body:
            before = body[: body.index(statement)]
            leaves = (ast.Return, ast.Continue, ast.Break)
            return [
                each.test
                for each in before
                if isinstance(each, ast.If)
                and any(isinstance(inner, leaves) for inner in ast.walk(each))
            ]
    return []


def passed_on(flow: Flow, inside: list[ast.AST], called: FrameType) -> set[str]:
    """The names that a call's chosen arguments have in the function that it calls."""
    call = inside[-1]
    code = called.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    if not isinstance(call, ast.Call):
        return set(names) - {"self"} if flow.touches(call) else set()
    given = [*call.args, *(each.value for each in call.keywords)]
    if not any(flow.touches(each) for each in given):
        return set()
    bound = 1 if names[:1] in (("self",), ("cls",)) else 0
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    if starred or code.co_filename.startswith(TORCH):
        return set(names) - {"self"}
    placed = zip(names[bound:], call.args, strict=False)
    found = {name for name, each in placed if flow.touches(each)}
    return found | {
        each.arg for each in call.keywords if each.arg and flow.touches(each.value)
    }
