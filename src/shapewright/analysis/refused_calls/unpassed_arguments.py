"""Arguments that are None by their default, because a caller that has them does not
pass them on: `self.decoder(x)` for `self.decoder(x, lengths=lengths)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Explanation, Finding, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_last_name,
    iter_own_nodes,
    list_parameters,
)


def find_unpassed_argument(program: Program, finding: Finding) -> Explanation | None:
    """Return which argument is None, and the call that does not pass it on, or None."""
    place = program.node(finding.span)
    if "NoneType" not in finding.words or place is None:
        return None
    text, node = place
    function = text.around(node, *FUNCTIONS)
    if not isinstance(function, ast.FunctionDef):
        return None
    read = collect_names(node)
    for name in _iter_missing(function):
        if name not in read:
            continue
        for caller, call in _iter_callers(program, finding, function, name):
            shown = join_lines(caller.written(call.func))
            message = f"`{name}` is None: `{shown}(...)` does not pass it on"
            where = Related(caller.span(call), f"`{name}` is not passed on here")
            fix = with_keyword(caller, call, f"{name}={name}")
            return Explanation(message, (where,), (fix,))
    return None


def _iter_missing(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the parameters of a function that are None by default and set nowhere."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    first = len(named) - len(arguments.defaults)
    defaults = list(zip(named[first:], arguments.defaults, strict=True))
    defaults += [
        (parameter, value)
        for parameter, value in zip(
            arguments.kwonlyargs, arguments.kw_defaults, strict=True
        )
        if value is not None
    ]
    stored = {
        node.id
        for node in iter_own_nodes(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for parameter, value in defaults:
        is_none = isinstance(value, ast.Constant) and value.value is None
        if is_none and parameter.arg not in stored:
            yield parameter.arg


def _iter_callers(
    program: Program, finding: Finding, function: ast.FunctionDef, name: str
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls of a function, or of the module whose `forward` it is, that give
    no such argument, where a variable of that name is known.
    """
    called = {function.name, finding.module.rpartition(".")[2]} - {"forward", ""}
    at = [p for p in list_parameters(function) if p != "self"].index(name)
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_last_name(call.func) not in called:
                continue
            words = [word.arg for word in call.keywords]
            is_starred = any(isinstance(a, ast.Starred) for a in call.args)
            around = text.around(call, *FUNCTIONS)
            is_passed = name in words or None in words or len(call.args) > at
            if is_starred or is_passed or around is function or around is None:
                continue
            stored = {
                node.id
                for node in iter_own_nodes(around)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            if name in stored or name in list_parameters(around):
                yield text, call
