"""Which function of a program stands behind a parameter or an attribute that is called:
`accuracy` for `metric(pred, y)` in ``def evaluate(model, metric)``, where every call of
`evaluate` hands it over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_own_attribute,
    iter_assignments,
    list_parameters,
)

DEEPEST = 5
"""Functions and attributes through which a function is handed on."""


def find_passed_function(
    text: SourceText, name: ast.expr, depth: int = 0
) -> ast.FunctionDef | None:
    """Return the one function of the program that a name or attribute stands for, also
    where it is a parameter that all calls set to the same; None for others.
    """
    if depth > DEEPEST:
        return None
    around = text.around(name, *FUNCTIONS)
    if isinstance(name, ast.Name) and name.id in list_parameters(around):
        assert isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        values = [*_iter_arguments_for(text, around, name.id)]
    else:
        word = name.id if isinstance(name, ast.Name) else get_own_attribute(name)
        named = text.functions(word) if word else []
        if len(named) == 1 and isinstance(named[0][1], ast.FunctionDef):
            return named[0][1]
        values = [*_iter_attribute_values(text, name)] if not named else []
    functions = [find_passed_function(text, value, depth + 1) for value in values]
    is_same = all(function is functions[0] for function in functions)
    return functions[0] if functions and is_same else None


def _iter_attribute_values(text: SourceText, name: ast.expr) -> Iterator[ast.expr]:
    """Yield what a class sets an attribute of its objects to."""
    owner = text.around(name, ast.ClassDef) if get_own_attribute(name) else None
    for target, value in iter_assignments(owner, unpacked=True):
        if get_own_attribute(target) == get_own_attribute(name):
            yield value


def _iter_arguments_for(
    text: SourceText,
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    parameter: str,
) -> Iterator[ast.expr]:
    """Yield what the calls of a function hand over for one of its parameters, and its
    default where one does not.
    """
    names = {getattr(function, "name", "")}
    owner = text.parent(function)
    if names == {"__init__"} and isinstance(owner, ast.ClassDef):
        names = {owner.name}
    parameters = list_parameters(function)
    is_method = parameters[:1] in (["self"], ["cls"])
    at = parameters.index(parameter) - is_method
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) not in names:
            continue
        words = {word.arg: word.value for word in call.keywords}
        default = _get_default(function.args, parameter)
        if parameter in words:
            yield words[parameter]
        elif at < len(call.args):
            yield call.args[at]
        elif default is not None:
            yield default


def _get_default(arguments: ast.arguments, parameter: str) -> ast.expr | None:
    """Return the default of a parameter, or None."""
    whole = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(whole), reversed(arguments.defaults), strict=False)]
    pairs += [
        (part, value)
        for part, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is not None
    ]
    return next((value for part, value in pairs if part.arg == parameter), None)
