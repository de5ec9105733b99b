"""Functions of a program that build a model: it is built as it was when its weights
were saved.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    is_starred,
    iter_assignments,
)


def suggest_builder_arguments(
    program: Program, pairs: Collection[tuple[int, int]]
) -> Iterator[Fix]:
    """Suggest `build_model(len(CLASSES))` for `build_model()`, whose default is the
    size of a model that other weights were saved of; each pair is such a size, and that
    of the weights.
    """
    for text in program.own_texts():
        for function in text.nodes:
            if not isinstance(function, ast.FunctionDef):
                continue
            if text.around(function, ast.ClassDef) is not None:
                continue
            names = [argument.arg for argument in function.args.args]
            defaults = function.args.defaults
            for name, default in zip(
                names[len(names) - len(defaults) :], defaults, strict=True
            ):
                size = evaluate_whole_number(default)
                for theirs in [new for old, new in pairs if old == size]:
                    at = names.index(name)
                    yield from _iter_edits(text, function.name, at, name, theirs)


def _iter_edits(
    text: SourceText, function: str, at: int, name: str, size: int
) -> Iterator[Fix]:
    """Yield the edits of the calls of a function that leave an argument out: what
    another call gives for it, where that is known everywhere, and its number.
    """
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == function
    ]
    values = {id(call): _get_argument(call, at, name) for call in calls}
    known = {word for t, _ in iter_assignments(text.tree) for word in collect_names(t)}
    known |= {*dir(builtins)}
    others = [
        join_lines(text.written(value))
        for value in values.values()
        if value is not None and collect_names(value, ast.Load) <= known
    ]
    for call in calls if others else ():
        if values[id(call)] is not None or is_starred(call):
            continue
        for new in (*dict.fromkeys(others), str(size)):
            if call.args or call.keywords:
                yield with_keyword(text, call, f"{name}={new}")
                continue
            shown = f"{text.written(call.func)}({new})"
            yield Fix("fits", f"`{shown}`", (Edit(text.span(call), shown),))


def _get_argument(call: ast.Call, at: int, name: str) -> ast.expr | None:
    """Return what a call gives for a parameter."""
    if at < len(call.args):
        return call.args[at]
    return next((word.value for word in call.keywords if word.arg == name), None)
