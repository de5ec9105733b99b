"""Arguments of the functions and methods that build parts of a model:
`self.double_conv(64, 128)`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    list_parameters,
)

DEEPEST = 3
"""Helpers inside helpers."""
OWN_METHODS = frozenset({"__init__", "forward", "__call__", "setup"})
"""Methods that no helper of the same class calls."""


@dataclass(frozen=True, slots=True)
class _HelperCall:
    """The call of a helper that builds a layer, the argument behind a name in it, and
    the sizes that the parameters around that call have for this layer.
    """

    call: ast.Call
    argument: ast.expr
    parameter: str
    sizes: dict[str, int] = field(default_factory=dict)

    def find_name(self, size: int) -> str:
        """Return the only other parameter around the call that has a size, or ''."""
        written = getattr(self.argument, "id", "")
        names = [name for name, value in self.sizes.items() if value == size]
        return names[0] if len(names) == 1 and names[0] != written else ""


def find_helper_call(
    text: SourceText, call: ast.Call, name: str, module: str
) -> _HelperCall | None:
    """Return the call of the helper in which a layer is built, as far as the names that
    results are given say which it is.
    """
    helper = text.around(call, ast.FunctionDef)
    if not _is_helper(text, helper) or not isinstance(helper, ast.FunctionDef):
        return None
    names = _list_arguments(text, helper)
    calls = _list_calls(text, helper)
    path = module.split(".")
    own = [outer for outer in calls if _is_on_path(text, outer, path)]
    chosen = own if len(own) == 1 else calls
    listed = _find_list(helper, name) if path[-1] == "0" else ""
    if len(chosen) != 1 or (name not in names and listed not in names):
        return None
    outer = chosen[0]
    if name not in names:
        items = _get_argument(outer, names.index(listed), listed)
        first = items.elts[0] if isinstance(items, ast.List) and items.elts else None
        return _HelperCall(outer, first, name) if first is not None else None
    argument = _get_argument(outer, names.index(name), name)
    if argument is None:
        return None
    return _HelperCall(outer, argument, name, _read_sizes(text, outer, path))


def _find_list(helper: ast.FunctionDef, name: str) -> str:
    """Return the list of sizes of which a name is each but the last: `a` of
    `for a, b in zip(sizes[:-1], sizes[1:])`.
    """
    for loop in ast.walk(helper):
        if isinstance(loop, ast.For | ast.comprehension) and isinstance(
            loop.target, ast.Tuple
        ):
            first = loop.target.elts[0]
            source = loop.iter
            if getattr(first, "id", "") != name or get_called_name(source) != "zip":
                continue
            assert isinstance(source, ast.Call)
            sizes = source.args[0] if source.args else None
            if isinstance(sizes, ast.Subscript):
                sizes = sizes.value
            return get_last_name(sizes) if isinstance(sizes, ast.Name) else ""
    return ""


def _is_helper(text: SourceText, function: ast.AST | None) -> bool:
    """Return whether a function, or a method of a class of modules, builds parts."""
    if not isinstance(function, ast.FunctionDef):
        return False
    owner = text.around(function, ast.ClassDef)
    return owner is None or function.name not in OWN_METHODS


def _list_arguments(text: SourceText, helper: ast.FunctionDef) -> list[str]:
    """Return the parameters that a caller gives in their order."""
    names = list_parameters(helper)
    is_bound = text.around(helper, ast.ClassDef) is not None
    is_static = any(
        get_last_name(mark) == "staticmethod" for mark in helper.decorator_list
    )
    return names[1:] if is_bound and not is_static else names


def _list_calls(text: SourceText, helper: ast.FunctionDef) -> list[ast.Call]:
    """Return the calls of a function, or those of a method in its own class."""
    owner = text.around(helper, ast.ClassDef)
    return [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == helper.name
        if owner is None or text.around(node, ast.ClassDef) is owner
    ]


def _is_on_path(
    text: SourceText, call: ast.Call, path: list[str], deep: int = DEEPEST
) -> bool:
    """Return whether the result of a call has a name on the path of a layer, or that of
    a helper in which it is called.
    """
    statement = text.statement_of(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if any(get_last_name(target) in path for target in targets):
        return True
    around = text.around(call, ast.FunctionDef)
    if not deep or not isinstance(around, ast.FunctionDef):
        return False
    return _is_helper(text, around) and any(
        _is_on_path(text, outer, path, deep - 1) for outer in _list_calls(text, around)
    )


def _get_argument(call: ast.Call, at: int, name: str) -> ast.expr | None:
    """Return an argument by its place, or by its name."""
    if len(call.args) > at:
        is_plain = not any(isinstance(arg, ast.Starred) for arg in call.args)
        return call.args[at] if is_plain else None
    return next((word.value for word in call.keywords if word.arg == name), None)


def _read_sizes(text: SourceText, call: ast.Call, path: list[str]) -> dict[str, int]:
    """Return the numbers that the helper around a call is given for a layer."""
    around = text.around(call, ast.FunctionDef)
    if not isinstance(around, ast.FunctionDef) or not _is_helper(text, around):
        return {}
    outers = [
        outer for outer in _list_calls(text, around) if _is_on_path(text, outer, path)
    ]
    sizes: dict[str, int] = {}
    for at, name in enumerate(_list_arguments(text, around) if outers else ()):
        argument = _get_argument(outers[0], at, name)
        number = evaluate_whole_number(argument) if argument is not None else None
        if number is not None and len(outers) == 1:
            sizes[name] = number
    return sizes
