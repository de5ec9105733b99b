"""Functions that a training loop hands its state through to cut the graph, and that
return it as it is: `repackage_hidden(h)` with `return h`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.autograd_errors.history import History
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
)
from shapewright.record.ops import Op

WRAPS = ("tuple", "list")
"""Calls that hand on what they are given."""
COMPREHENSIONS = ast.GeneratorExp | ast.ListComp


@dataclass(frozen=True, slots=True)
class _UncutHelper:
    """A function that returns its argument: its text, and the tensor that it returns,
    `h` of `return h`.
    """

    text: SourceText
    function: ast.FunctionDef
    leaf: ast.expr

    @property
    def name(self) -> str:
        """Return the name of the function."""
        return self.function.name

    @property
    def span(self) -> Span:
        """Return the place of the tensor that it returns."""
        return self.text.span(self.leaf)


def find_uncut_helper(
    history: History, failing: Op, names: tuple[str, ...]
) -> _UncutHelper | None:
    """Return the function that a loop around a backward pass gives one of some names
    and whose result it calls by that name again, where it returns what it is given.
    """
    where = history.find_text(failing.span)
    loop = where[0].around(where[1], ast.For, ast.While) if where is not None else None
    if where is None or loop is None:
        return None
    for target, value in iter_assignments(loop):
        name = get_dotted_name(target)
        if name not in names or not isinstance(value, ast.Call) or value.keywords:
            continue
        if len(value.args) != 1 or get_dotted_name(value.args[0]) != name:
            continue
        helper = _find_function(history, get_called_name(value))
        if helper is not None:
            return helper
    return None


def suggest_cutting_helper(helper: _UncutHelper) -> Iterator[Fix]:
    """Suggest `return h.detach()` in the function, and for a tuple that of each."""
    text, leaf = helper.text, helper.leaf
    written = text.written(leaf)
    around = text.parent(leaf)
    word = "return " if isinstance(around, ast.Return) else ""
    new = f"{written}.detach()"
    yield Fix("fits", f"`{word}{new}`", (Edit(text.span(leaf), new),))
    if word:
        new = f"tuple(part.detach() for part in {written})"
        yield Fix("fits", f"`{word}{new}`", (Edit(text.span(leaf), new),))


def _find_function(history: History, name: str) -> _UncutHelper | None:
    """Return a function of the program by its name, if all that it returns is its only
    argument, or a tuple of the argument's parts.
    """
    for text in history.program.own_texts():
        for own, function in text.functions(name):
            if own != name or not isinstance(function, ast.FunctionDef):
                continue
            arguments = [a.arg for a in function.args.args if a.arg != "self"]
            returned = [
                node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Return)
            ]
            if len(arguments) != 1 or not returned or _is_set(function, arguments[0]):
                continue
            leaves = [_find_leaf(value, arguments[0], name) for value in returned]
            if any(leaf is None for leaf in leaves):
                continue
            tensors = [leaf for leaf in leaves if not _is_recursion(leaf, name)]
            if len(tensors) == 1 and tensors[0] is not None:
                return _UncutHelper(text, function, tensors[0])
    return None


def _is_set(function: ast.FunctionDef, name: str) -> bool:
    """Return whether a function sets a name anew."""
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )


def _is_recursion(leaf: ast.expr | None, name: str) -> bool:
    """Return whether a part is handed to the function itself."""
    return leaf is not None and get_called_name(leaf) == name


def _find_leaf(value: ast.expr | None, name: str, function: str) -> ast.expr | None:
    """Return the tensor that an expression hands on as it is, or None."""
    if isinstance(value, ast.Name):
        return value if value.id == name else None
    if isinstance(value, COMPREHENSIONS) and len(value.generators) == 1:
        loop = value.generators[0]
        if get_dotted_name(loop.iter) != name or loop.ifs:
            return None
        inner = get_dotted_name(loop.target)
        return _find_leaf(value.elt, inner, function) if inner else None
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return None
    called = get_called_name(value)
    if called == function:
        return value if get_dotted_name(value.args[0]) == name else None
    if called not in WRAPS:
        return None
    return _find_leaf(value.args[0], name, function)
