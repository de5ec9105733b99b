"""Find loops that give a network the place of a step in a table where others give it
the step that the table has there: `i` for `self.timesteps[i]`.

The index counts what was chosen by the table: `self.alphas[i]` of
`self.alphas = alphas[self.timesteps]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_AS_VALUE
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

ORDERED = frozenset({"tqdm", "list", "tuple", "reversed", "flip", "iter", "trange"})
"""Functions that give the items of their first argument, perhaps in another order."""
COUNTING = frozenset({"range", "trange"})
FILLING = frozenset({"full", "full_like"})
SAME = operators_with(
    "keeps_elements", "moves_device", "takes_new_sizes", "takes_program_data"
) | {"repeat", "LongTensor", "array"}
"""Calls that give the number of their operand, perhaps several times."""
ALL_NUMBERS = frozenset({"range", "arange"})
DEEPEST = 6
"""Names and calls between an argument and the number in it."""


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that a call is given: its node, the loop that counts it, the table that
    it is taken from; of a plain index, no table.
    """

    node: ast.expr
    loop: ast.For | None
    table: str


@dataclass(frozen=True, slots=True)
class _StepPlace:
    """A call that is given the place of a step: the index, its loop, the table of the
    steps, what the index counts, and a call elsewhere that is given a step.
    """

    call: ast.Call
    index: ast.Name
    loop: ast.For
    table: str
    counted: ast.Subscript
    other: ast.Call


def describe_step_places(program: Program) -> Iterator[Finding]:
    """Yield the findings for networks that are given the place of a step."""
    for text, place in iter_step_places(program):
        index, callee = place.index.id, text.line_of(place.call.func)
        message = (
            f"`{callee}` is given `{index}`, a place in `{place.table}`, and the call"
            f" at line {place.other.lineno} gives it the number that `{place.table}`"
            f" has there: `{place.table}[{index}]`"
        )
        counted = f"`{index}` counts what was chosen by `{place.table}`"
        yield Finding(
            INDEX_AS_VALUE,
            "warning",
            message,
            text.span(place.call),
            related=(
                Related(text.span(place.index), f"`{index}` is taken here"),
                Related(text.span(place.counted), counted),
                Related(text.span(place.other), "it is given a step here"),
            ),
        )


def iter_step_places(program: Program) -> Iterator[tuple[SourceText, _StepPlace]]:
    """Yield the calls of modules that are given the place of a step, each with its
    text.
    """
    called = {call.span for call in program.trace.calls}
    for text in program.own_texts():
        for place in _iter_places(text):
            if text.span(place.call) in called:
                yield text, place


def _iter_places(text: SourceText) -> Iterator[_StepPlace]:
    """Yield the calls that are given the place of a step beside a tensor."""
    numbers = [
        (call, key, number)
        for call in text.nodes
        if isinstance(call, ast.Call) and get_dotted_name(call.func)
        if len(call.args) + len(call.keywords) > 1
        for key, number in _list_numbers(text, call)
    ]
    for call, key, number in numbers:
        if number.table or number.loop is None or not isinstance(number.node, ast.Name):
            continue
        for other, other_key, step in numbers:
            same = key == other_key and ast.unparse(other.func) == ast.unparse(
                call.func
            )
            if not same or not step.table:
                continue
            scope = _get_shared_scope(text, call, other)
            if scope is None or _has_all_numbers(scope, step.table):
                continue
            counted = _find_counted(scope, number.loop, number.node.id, step.table)
            if counted is not None:
                index, loop = number.node, number.loop
                yield _StepPlace(call, index, loop, step.table, counted, other)
                break


def _list_numbers(text: SourceText, call: ast.Call) -> list[tuple[str, _Number]]:
    """Return the arguments of a call that are the index of a loop, or an item of a
    table, each with its position or its name.
    """
    arguments = {str(at): argument for at, argument in enumerate(call.args)}
    arguments |= {word.arg: word.value for word in call.keywords if word.arg}
    pairs = ((key, _read_number(text, node)) for key, node in arguments.items())
    return [(key, number) for key, number in pairs if number is not None]


def _read_number(text: SourceText, node: ast.expr, depth: int = 0) -> _Number | None:
    """Return the index or the item of a table that an expression holds, or None."""
    if depth > DEEPEST:
        return None
    inner = _get_operand(node)
    if inner is not None:
        return _read_number(text, inner, depth + 1)
    if isinstance(node, ast.Subscript):
        table = get_dotted_name(node.value)
        is_item = table and isinstance(node.slice, ast.Name | ast.BinOp)
        return _Number(node, None, table) if is_item else None
    if not isinstance(node, ast.Name):
        return None
    value = find_last_value(text, node, node.lineno)
    loop = _find_loop_of(text, node)
    if loop is not None and (value is None or value.lineno <= loop[0].lineno):
        return _Number(node, *loop)
    return _read_number(text, value, depth + 1) if value is not None else None


def _get_operand(node: ast.expr) -> ast.expr | None:
    """Return the expression whose number a call, a list or a product repeats."""
    if isinstance(node, ast.List) and len(node.elts) == 1:
        return node.elts[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        for side, other in (sides, sides[::-1]):
            if get_called_name(other).startswith("ones") or isinstance(side, ast.List):
                return side
        return None
    if not isinstance(node, ast.Call):
        return None
    name = get_called_name(node)
    if name in FILLING:
        words = [word.value for word in node.keywords if word.arg == "fill_value"]
        return next(iter([*words, *node.args[1:2]]), None)
    if name not in SAME:
        return None
    is_method = isinstance(node.func, ast.Attribute) and get_dotted_name(
        node.func.value
    ) not in ("torch", "np", "numpy")
    if is_method and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.args[0] if node.args else None


def _find_loop_of(text: SourceText, name: ast.Name) -> tuple[ast.For, str] | None:
    """Return the loop around a name that sets it, with the table whose items it goes
    over, or an empty string for the index of a turn.
    """
    for loop in text.outwards(name):
        if isinstance(loop, FUNCTIONS):
            return None
        if not isinstance(loop, ast.For):
            continue
        source = _strip_order(loop.iter)
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(loop.target, source)]
        called = get_called_name(source)
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
        if called == "enumerate" and isinstance(source, ast.Call) and len(targets) == 2:
            pairs = [(targets[0], None), (targets[1], source.args[0])]
        elif called == "zip" and isinstance(source, ast.Call):
            pairs = list(zip(targets, source.args, strict=False))
        for target, items in pairs:
            if not isinstance(target, ast.Name) or target.id != name.id:
                continue
            if items is None or get_called_name(items) in COUNTING:
                return loop, ""
            items = _strip_order(items)
            items = items.value if isinstance(items, ast.Subscript) else items
            table = get_dotted_name(items)
            return (loop, table) if table else None
    return None


def _strip_order(node: ast.expr) -> ast.expr:
    """Return `x` of `tqdm(reversed(list(x)))`."""
    while isinstance(node, ast.Call) and node.args:
        name = get_called_name(node)
        if name not in ORDERED or name in COUNTING:
            break
        node = node.args[0]
    return node


def _get_shared_scope(
    text: SourceText, call: ast.Call, other: ast.Call
) -> ast.AST | None:
    """Return the class that both calls stand in, or the file if neither is in one."""
    owner = text.around(call, ast.ClassDef)
    if owner is not text.around(other, ast.ClassDef):
        return None
    return owner if owner is not None else text.tree


def _has_all_numbers(scope: ast.AST, table: str) -> bool:
    """Return whether a table is `range(n)`: each step is its own place."""
    return any(
        get_dotted_name(target) == table
        and isinstance(value, ast.Call)
        and get_called_name(value) in ALL_NUMBERS
        and len(value.args) == 1
        for target, value in iter_assignments(scope)
    )


def _find_counted(
    scope: ast.AST, loop: ast.For, index: str, table: str
) -> ast.Subscript | None:
    """Return `x[i]` in a loop, where `x` is the table, or was chosen by it."""
    chosen = {table}
    for target, value in iter_assignments(scope):
        items = [part for part in ast.walk(value) if isinstance(part, ast.Subscript)]
        if any(get_dotted_name(item.slice) == table for item in items):
            chosen.add(get_dotted_name(target))
    for node in ast.walk(loop):
        if not isinstance(node, ast.Subscript) or get_dotted_name(node.value) == "":
            continue
        is_own = isinstance(node.slice, ast.Name) and node.slice.id == index
        if is_own and get_dotted_name(node.value) in chosen:
            return node
    return None
