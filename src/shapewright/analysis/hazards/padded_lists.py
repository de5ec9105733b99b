"""Find tensors of lists that the program's own Python fills up to one length:
`ids + [PAD] * (length - len(ids))`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from shapewright.analysis.program_run import Program
from shapewright.program.assigned_values import find_known_value
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    list_parameters,
)
from shapewright.record.ops import Op

MAKERS = frozenset({"tensor", "as_tensor"})
LEAST = 2
"""Places that are filled up, at least."""
DEEPEST = 2


@dataclass(frozen=True, slots=True)
class PaddedList:
    """A number that fills lists up, how many of it each has behind its end at least,
    where the text writes it, and the call that it is written or given for.
    """

    value: int
    runs: tuple[int, ...]
    text: SourceText
    node: ast.expr
    place: Span | None


def find_padded_list(program: Program, op: Op) -> PaddedList | None:
    """Return the padding of the lists that a call makes a tensor of, or None."""
    if op.name.rpartition(".")[2] not in MAKERS or op.inputs:
        return None
    arguments = dict(op.arguments)
    rows = get_rows(arguments.get("0", arguments.get("data")))
    ends = {row[-1] for row in rows if len(row) > 1 and row[-1] == row[-2]}
    for value in sorted(ends):
        runs = tuple(_count_behind(row, value) for row in rows)
        if max(runs) < LEAST or sum(runs) == sum(map(len, rows)):
            continue
        for text, node in _iter_fillings(program, op):
            number = _evaluate_number(text, node)
            if number is None or number == value:
                place = _find_place(program, op, text, node)
                return PaddedList(value, runs, text, node, place)
    return None


def _find_place(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> Span | None:
    """Return the call that makes a tensor of lists, or the call of the function that
    fills lists with a number which it is given.
    """
    function = text.around(node, *FUNCTIONS)
    is_given = isinstance(node, ast.Name) and node.id in list_parameters(function)
    for outer, inner in pairwise(op.frames):
        if is_given and inner.span.file == text.file:
            place = text.node(inner.span)
            if place is not None and text.around(place, *FUNCTIONS) is function:
                return outer.span
    return op.span


def get_rows(data: object) -> list[list[int]]:
    """Return the rows of a list of whole numbers, or of several such lists."""
    rows = data if isinstance(data, list | tuple) else ()
    if rows and all(type(row) is int for row in rows):
        return [list(rows)]
    whole = [row for row in rows if isinstance(row, list | tuple) and row]
    if len(whole) != len(rows) or any(type(n) is not int for r in whole for n in r):
        return []
    return [list(row) for row in whole]


def _count_behind(row: list[int], value: int) -> int:
    """Return how often a list has a number at its end."""
    return next(
        (n for n, number in enumerate(reversed(row)) if number != value), len(row)
    )


def _iter_fillings(program: Program, op: Op) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the numbers with which a call's lists are filled up, as the text shows."""
    for frame in reversed(op.frames):
        text = program.text(frame.span.file)
        place = text.node(frame.span) if text is not None else None
        if text is None or text not in program.own_texts():
            continue
        if not isinstance(place, ast.Call) or not place.args:
            return
        for node in find_fillings(text, place.args[0]):
            yield text, node
        for _, function in find_filling_calls(text, place.args[0]):
            for node in list_fillings(function):
                yield text, node
        parameters = list_parameters(text.around(place, *FUNCTIONS))
        if get_dotted_name(place.args[0]) not in parameters:
            return


def find_filling_calls(
    text: SourceText, node: ast.expr
) -> list[tuple[ast.Call, ast.AST]]:
    """Return the calls in what an expression stands for, of the program's functions
    that fill lists up, with these functions.
    """
    calls: dict[ast.Call, ast.AST] = {}
    for part in iter_list_parts(text, node):
        functions = text.functions(get_called_name(part))
        if not isinstance(part, ast.Call) or len(functions) != 1:
            continue
        if list_fillings(functions[0][1]):
            calls[part] = functions[0][1]
    return list(calls.items())


def list_fillings(scope: ast.AST) -> list[ast.expr]:
    """Return the numbers with which a part of the text fills up lists."""
    return [v for node in ast.walk(scope) if (v := _get_filling(node)) is not None]


def find_fillings(text: SourceText, node: ast.expr) -> list[ast.expr]:
    """Return the numbers that fill up the lists which an expression stands for."""
    values = [_get_filling(part) for part in iter_list_parts(text, node)]
    return [value for value in dict.fromkeys(values) if value is not None]


def iter_list_parts(
    text: SourceText, node: ast.expr, depth: int = 0
) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, and those of what its list is made of: what the
    name was assigned, and what is appended to it.
    """
    yield from ast.walk(node)
    while isinstance(node, ast.Subscript):
        node = node.value
    own = get_dotted_name(node)
    if not own or depth > DEEPEST:
        return
    kinds = FUNCTIONS if isinstance(node, ast.Name) else (ast.ClassDef,)
    scope = text.around(node, *kinds) or text.tree
    for inner in ast.walk(scope) if scope is not None else ():
        value: ast.expr | None = None
        if isinstance(inner, ast.Assign):
            names = [get_dotted_name(target) for target in inner.targets]
            value = inner.value if own in names else None
        elif isinstance(inner, ast.AugAssign):
            if get_dotted_name(inner.target) == own:
                yield inner
        elif isinstance(inner, ast.Call) and inner.args:
            owner = get_receiver(inner)
            name = get_dotted_name(owner) if owner is not None else ""
            if name == own and get_called_name(inner) in ("append", "extend"):
                yield inner
                value = inner.args[0]
        if value is not None and get_dotted_name(value) != own:
            yield from iter_list_parts(text, value, depth + 1)


def _get_filling(node: ast.AST) -> ast.expr | None:
    """Return the number of `+ [number] * count`, or of `extend([number] * count)`."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add):
        filling = node.right if isinstance(node, ast.BinOp) else node.value
    elif isinstance(node, ast.Call) and get_called_name(node) == "extend" and node.args:
        filling = node.args[0]
    else:
        return None
    if not isinstance(filling, ast.BinOp) or not isinstance(filling.op, ast.Mult):
        return None
    sides = (filling.left, filling.right), (filling.right, filling.left)
    for numbers, count in sides:
        is_single = isinstance(numbers, ast.List) and len(numbers.elts) == 1
        if is_single and not isinstance(count, ast.Constant):
            assert isinstance(numbers, ast.List)
            return numbers.elts[0]
    return None


def _evaluate_number(text: SourceText, node: ast.expr) -> int | None:
    """Return the whole number that an expression or a name stands for, if the text says
    it.
    """
    number = evaluate_whole_number(node)
    if number is not None or not isinstance(node, ast.Name):
        return number
    function = text.around(node, *FUNCTIONS)
    if function is not None and node.id in list_parameters(function):
        return None
    value = find_known_value(text, node)
    return None if value is node else evaluate_whole_number(value)
