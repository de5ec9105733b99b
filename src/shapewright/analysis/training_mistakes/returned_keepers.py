"""Find the statements by which a function keeps results with their graphs in a dict or
list that it returns, and that a loop stores: `scores[epoch] = metric(net, x)` behind
`results.append((params, test(net)))`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.graph_keepers import (
    has_graph,
    is_bare,
    is_storing,
    list_graph_lines,
    list_graph_names,
)
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    LOOPS,
    get_called_name,
    iter_assignments,
)
from shapewright.record.report import Place

DISPLAYS = (ast.Tuple, ast.List, ast.Dict)


def find_returned_keepers(
    program: Program, loop: Place
) -> Iterator[tuple[str, SourceText, ast.stmt, ast.stmt]]:
    """Yield what a function keeps with its graph in what it returns to a loop that
    stores it: as it is written, the statement that keeps it, and that of the loop.
    """
    text = program.text(loop[0])
    if text is None:
        return
    lines = list_graph_lines(program, loop[0])
    for node in text.near(loop[1]):
        if not isinstance(node, LOOPS) or node.lineno != loop[1]:
            continue
        for statement in ast.walk(node):
            if not isinstance(statement, ast.Expr | ast.Assign):
                continue
            for call in _list_stored_calls(node, statement):
                for _, function in text.functions(get_called_name(call)):
                    for name, inner in _iter_returned(text, function, lines):
                        yield name, text, inner, statement


def _list_stored_calls(
    loop: ast.AST, statement: ast.Expr | ast.Assign
) -> list[ast.Call]:
    """Return the calls whose results a statement stores, alone or among others."""
    if isinstance(statement, ast.Expr):
        call = statement.value
        is_stored = isinstance(call, ast.Call) and is_storing(call)
        values = call.args if is_stored and isinstance(call, ast.Call) else []
    else:
        is_item = isinstance(statement.targets[0], ast.Subscript)
        values = [statement.value] if is_item else []
    parts = [part for value in values for part in _iter_parts(value)]
    for part in [*parts]:
        if isinstance(part, ast.Name):
            parts += [
                value
                for target, value in iter_assignments(loop)
                if isinstance(target, ast.Name) and target.id == part.id
            ]
    return [part for part in parts if isinstance(part, ast.Call)]


def _iter_parts(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the entries of nested displays; of other expressions, these themselves."""
    if not isinstance(value, DISPLAYS):
        yield value
        return
    entries = value.values if isinstance(value, ast.Dict) else value.elts
    for entry in entries:
        yield from _iter_parts(entry)


def _iter_returned(
    text: SourceText, function: ast.AST, lines: set[int]
) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a function stores with a graph in a dict or list that it returns."""
    returned = {
        node.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
    }
    names = list_graph_names(function, lines)
    for statement in ast.walk(function) if returned else ():
        holder: ast.expr | None = None
        if isinstance(statement, ast.Assign):
            holder, value = statement.targets[0], statement.value
            if not isinstance(holder, ast.Subscript):
                continue
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if not is_storing(call) or len(call.args) != 1:
                continue
            holder, value = call.func, call.args[0]
        while isinstance(holder, ast.Subscript | ast.Attribute):
            holder = holder.value
        if not isinstance(holder, ast.Name) or holder.id not in returned:
            continue
        assert isinstance(statement, ast.stmt)
        is_new = isinstance(value, ast.Call) and has_graph(value)
        if is_new and value.lineno in lines:
            yield text.written(value), statement
        for name in sorted(names):
            if is_bare(value, name):
                yield name, statement
