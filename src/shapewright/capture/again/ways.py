"""The ways to run again what failed: the program's line, a layer, a line of torch's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from shapewright.capture.again.again import Again
from shapewright.capture.again.operands import CALLS, operands
from shapewright.capture.again.owners import Owner, owner_of, relative
from shapewright.capture.again.rewriting import PREFIX
from shapewright.capture.again.standing import Stack, Standing
from shapewright.source.expressions import Text, flat
from shapewright.source.span import Span

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the program stands that failed: its text, the node there, and the model.

    `given` are operands that torch holds, by the dump of their expressions. `span` is
    what is told; of a method call over several lines it is the last part.
    """

    stack: Stack
    text: Text | None
    node: ast.expr | ast.stmt | None
    owner: Owner
    span: Span
    given: dict[str, Any]

    @property
    def point(self) -> Span:
        """The same place, with nothing at it that stands in the text."""
        span = self.span
        return Span(span.file, span.line, span.column, span.line, span.column)


def place_of(stack: Stack) -> Place:
    """What stands where the program's innermost frame does."""
    here = stack.here
    text = here.text()
    node = here.node(text) if text is not None else None
    line = here.line()
    span = Span(here.file, line, 1, line, 1)
    if text is not None and node is not None:
        span = here.span(text) or text.span(node)
    given = operands(stack, node) if node is not None else {}
    owner = owner_of(stack, text, node, called(text, node, given))
    return Place(stack, text, node, owner, span, given)


def own_again(place: Place) -> Iterator[Again]:
    """The program's own expression, then the comprehension that it stands in."""
    here, text, node = place.stack.here, place.text, place.node
    if text is not None and node is not None:
        at, told = relative(text.span(node)), relative(place.span)
        yield Again(here, place.owner, here.file, text, node, at, told, place.given)
        around = text.around(node, *COMPREHENSIONS)
        if around is not None:  # since Python 3.12 its names are gone
            yield Again(here, place.owner, here.file, text, around, at, told)


def layers_again(place: Place) -> Iterator[Again]:
    """The layers of torch's that were called below it, the outermost first."""
    for each in place.stack.below:
        if each.code.co_name == "_wrapped_call_impl" and each.first is not None:
            yield layer_again(place, each)


def lines_again(place: Place) -> Iterator[Again]:
    """torch's own lines, the innermost first."""
    at, told = relative(place.point), relative(place.span)
    for each in reversed(place.stack.below):
        text = each.text()
        node = each.node(text) if text is not None else None
        if node is not None and each.code.co_name not in CALLS:
            moved = at_point(node, place)
            file = place.stack.here.file
            yield Again(each, place.owner, file, None, moved, at, told)


def called(text: Text | None, node: ast.AST | None, given: dict[str, Any]) -> str:
    """The layer that is called, as it is written; nothing where something else is."""
    if text is None or not isinstance(node, ast.Call):
        return ""
    layer = isinstance(given.get(ast.dump(node.func)), nn.Module)
    return flat(text.written(node.func)) if layer else ""


def layer_again(place: Place, frame: Standing) -> Again:
    """The call of a layer of torch's, with what it was given."""
    held, here = frame.frame.f_locals, place.stack.here
    args, words = held.get("args", ()), held.get("kwargs", {})
    given = {f"{PREFIX}a{n}": value for n, value in enumerate(args)}
    named = {f"{PREFIX}k_{name}": value for name, value in words.items()}
    node = ast.Call(
        ast.Name(f"{PREFIX}layer", ast.Load()),
        [ast.Name(name, ast.Load()) for name in given],
        [
            ast.keyword(name, ast.Name(f"{PREFIX}k_{name}", ast.Load()))
            for name in words
        ],
    )
    names = {f"{PREFIX}layer": frame.first, **given, **named}
    at, told = relative(place.point), relative(place.span)
    moved = at_point(node, place)
    return Again(here, place.owner, here.file, None, moved, at, told, {}, names)


def at_point(node: ast.AST, place: Place) -> ast.AST:
    """A node at the program's place, as a point: it stands for nothing in the text."""
    point, text = place.point, place.text
    column = point.column - 1
    if text is not None:
        column = len(text.lines[point.line - 1][:column].encode())
    for each in ast.walk(node):
        if isinstance(each, ast.expr | ast.stmt | ast.keyword):
            each.lineno = each.end_lineno = point.line
            each.col_offset = each.end_col_offset = column
    return node
