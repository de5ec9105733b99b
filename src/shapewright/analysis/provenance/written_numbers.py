"""Where the number behind a name is written: that of an argument which callers and
constructors hand on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Related
from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_own_attribute,
    is_starred,
    iter_assignments,
    list_parameters,
)
from shapewright.record.ops import Op

FACTORIES = operators_with("is_sized_factory")
OF_LIMITS = operators_with("has_integer_dtype")
"""Factories whose first numbers are limits, and no sizes."""
DEEPEST = 8
"""How many names and arguments a number is followed back through."""
LONGEST = 50
"""Characters of a call that a message quotes."""
Written = tuple[SourceText, ast.expr]
"""A number in a text."""


def find_factory_size(
    program: Program, op: Op, dim: int
) -> tuple[SourceText, ast.expr] | None:
    """Return what the call of a factory, such as `torch.zeros(n, size)`, has for a dim
    of its tensor.
    """
    name = op.name.rpartition(".")[2]
    place = program.call_at(op.span)
    if name not in FACTORIES or place is None or get_called_name(place[1]) != name:
        return None
    sizes: list[ast.expr] = [] if name in OF_LIMITS else place[1].args
    words = [word.value for word in place[1].keywords if word.arg in ("size", "shape")]
    for argument in [*place[1].args, *words]:
        if isinstance(argument, ast.Tuple | ast.List):
            sizes = argument.elts
    rank = len(op.outputs[0].shape) if op.outputs else 0
    if len(sizes) != rank or any(isinstance(size, ast.Starred) for size in sizes):
        return None
    return (place[0], sizes[dim]) if dim < rank else None


def describe_written_number(
    program: Program, text: SourceText, node: ast.expr, path: str, number: int
) -> Related | None:
    """Say where the number of a name is written that the module at a path reads; None
    where it is written in the expression itself, in several places or in none.
    """
    if evaluate_whole_number(node) is not None:
        return None
    places = list(_iter_written(program, text, node, path, DEEPEST))
    fitting = {
        place[0].span(place[1]): place
        for place in places
        if place is not None and evaluate_whole_number(place[1]) == number
    }
    if None in places or len(fitting) != 1:
        return None
    ((span, place),) = fitting.items()
    return Related(span, f"{number} is set by `{_quote_setting(*place)}`")


def describe_handed_size(
    program: Program, op: Op, text: SourceText, node: ast.expr
) -> Related | None:
    """Say what the function around an op was handed for a parameter that is a size:
    `n` is `x.size(0)`; None where it was a name or a number.
    """
    function = text.around(node, *FUNCTIONS)
    if not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef):
        return None
    if node.id not in list_parameters(function):
        return None
    is_method = text.around(function, ast.ClassDef) is not None
    for frame in op.frames:
        place = program.call_at(frame.span)
        if place is None or get_called_name(place[1]) != function.name:
            continue
        handed = _find_handed(function, place[1], node.id, is_method)
        is_read = handed is not None and isinstance(handed[0], ast.Call | ast.Subscript)
        if handed is None or handed[1] or not is_read:
            return None
        written = join_lines(place[0].written(handed[0]))
        span = place[0].span(handed[0])
        return Related(span, f"`{node.id}` is `{written}`")
    return None


def _quote_setting(text: SourceText, node: ast.expr) -> str:
    """Return the text that sets a number: an assignment, a call or an argument."""
    around = text.parent(node)
    word = around.arg if isinstance(around, ast.keyword) else None
    call = text.parent(around) if isinstance(around, ast.keyword) else around
    if isinstance(call, ast.Assign | ast.AnnAssign | ast.Call):
        written = join_lines(text.written(call))
        if len(written) <= LONGEST:
            return written
        if isinstance(call, ast.Call) and word is None:
            return f"{text.written(call.func)}(...)"
    if isinstance(around, ast.arguments):
        defaults = _collect_defaults(around)
        word = next(name for name, value in defaults.items() if value is node)
    if isinstance(around, ast.Dict):
        key = around.keys[around.values.index(node)]
        return f"{text.written(key)}: {text.written(node)}" if key else ""
    return f"{word}={text.written(node)}" if word else text.written(node)


def _collect_defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults of the parameters of a function, by their names."""
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    behind = names[len(names) - len(arguments.defaults) :]
    defaults = dict(zip(behind, arguments.defaults, strict=True))
    for parameter, default in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        if default is not None:
            defaults[parameter.arg] = default
    return defaults


def _iter_written(
    program: Program, text: SourceText, node: ast.expr | None, path: str, steps: int
) -> Iterator[Written | None]:
    """Yield the numbers that an expression can be, in the module at a path; None for
    what is not known.
    """
    if node is None or not steps:
        yield None
    elif evaluate_whole_number(node) is not None:
        yield text, node
    elif isinstance(node, ast.Name):
        yield from _iter_of_name(program, text, node, path, steps - 1)
    elif get_own_attribute(node):
        owner = text.around(node, ast.ClassDef)
        values = _list_set(owner, get_own_attribute(node)) if owner else []
        value = values[0] if len(values) == 1 else None
        yield from _iter_written(program, text, value, path, steps - 1)
    elif isinstance(node, ast.Attribute):
        yield from _iter_of_settings(text, node.attr)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        yield from _iter_of_settings(text, str(node.slice.value))
    else:
        yield None


def _list_set(owner: ast.ClassDef, name: str) -> list[ast.expr | None]:
    """Return what a class sets an attribute of its own to; None for a part of several
    values, or a sum.
    """
    values: list[ast.expr | None] = []
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if get_own_attribute(target) == name:
                    values.append(node.value)
                elif isinstance(target, ast.Tuple | ast.List):
                    parts = map(get_own_attribute, target.elts)
                    values += [None] * (name in parts)
        elif (
            isinstance(node, ast.AugAssign | ast.AnnAssign)
            and get_own_attribute(node.target) == name
        ):
            is_plain = isinstance(node, ast.AnnAssign)
            values.append(node.value if is_plain else None)
    return values


def _iter_of_settings(text: SourceText, name: str) -> Iterator[Written | None]:
    """Yield the one number that a file gives a setting: an attribute of a config, a key
    or an option of the command line.
    """
    values = list(find_defining(text, name))
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "add_argument":
            flags = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if name in [str(flag).lstrip("-").replace("-", "_") for flag in flags]:
                values += [w.value for w in node.keywords if w.arg == "default"]
    is_number = len(values) == 1 and evaluate_whole_number(values[0]) is not None
    yield (text, values[0]) if is_number else None


def _iter_of_name(
    program: Program, text: SourceText, name: ast.Name, path: str, steps: int
) -> Iterator[Written | None]:
    """Yield the numbers that a variable, a parameter or a constant can be."""
    function = text.around(name, *FUNCTIONS)
    scopes = [scope for scope in (function, text.tree) if scope is not None]
    for scope in scopes:
        values = [
            value
            for target, value in iter_assignments(scope)
            if isinstance(target, ast.Name) and target.id == name.id
            if text.around(value, *FUNCTIONS) is function or scope is not function
        ]
        if scope is text.tree:
            values = [v for v in values if text.around(v, *FUNCTIONS) is None]
        stored = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name)
            and node.id == name.id
            and isinstance(node.ctx, ast.Store)
            and text.around(node, *FUNCTIONS)
            is (None if scope is text.tree else function)
        ]
        if stored:
            value = values[0] if len(values) == len(stored) == 1 else None
            yield from _iter_written(program, text, value, path, steps)
            return
        if scope is function and name.id in list_parameters(function):
            yield from _iter_of_parameter(program, text, function, name, path, steps)
            return
    yield None


def _iter_of_parameter(
    program: Program,
    text: SourceText,
    function: ast.AST,
    name: ast.Name,
    path: str,
    steps: int,
) -> Iterator[Written | None]:
    """Yield the numbers that a parameter is given: in the call that built the module
    at a path, if the function is its constructor, else in each call of the function.
    """
    if not isinstance(function, ast.FunctionDef):
        yield None
        return
    owner = text.around(function, ast.ClassDef)
    calls: list[tuple[SourceText, ast.Call, str]] = []
    if owner is not None and function.name == "__init__":
        outer = path
        while outer and not calls:
            built = program.built.get(outer)
            place = program.call_at(built.span) if built is not None else None
            if place is not None and get_called_name(place[1]) == owner.name:
                calls.append((*place, outer.rpartition(".")[0]))
            outer = outer.rpartition(".")[0]
    wanted = owner.name if owner and function.name == "__init__" else function.name
    if not calls and len(text.definitions(wanted)) <= 1:
        calls = [
            (own, node, path)
            for own in program.own_texts()
            for node in own.nodes
            if isinstance(node, ast.Call) and get_called_name(node) == wanted
        ]
    if not calls:
        yield None
    for own, call, around in calls:
        value = _find_handed(function, call, name.id, owner is not None)
        own = text if value is not None and value[1] else own
        node = value[0] if value is not None else None
        yield from _iter_written(program, own, node, around, steps)


def _find_handed(
    function: ast.FunctionDef, call: ast.Call, name: str, is_method: bool
) -> tuple[ast.expr, bool] | None:
    """Return what a call hands to a parameter, and whether it is the default."""
    if is_starred(call):
        return None
    for word in call.keywords:
        if word.arg == name:
            return word.value, False
    arguments, defaults = function.args, _collect_defaults(function.args)
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    at = names.index(name) - is_method if name in names else len(call.args)
    if 0 <= at < len(call.args):
        return call.args[at], False
    return (defaults[name], True) if name in defaults else None
