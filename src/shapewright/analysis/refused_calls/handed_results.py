"""All that a model returns in the place of one of its tensors: `criterion(model(x), y)`
of a model that returns two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.handed_objects import find_assigned
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Fact, ModuleCall

MOST = 4
"""Results that are named."""


def explain_results(
    program: Program, text: SourceText, node: ast.expr
) -> Explanation | None:
    """Return what a module returned where one tensor of it is meant, or None."""
    value = find_assigned(text, node) if isinstance(node, ast.Name) else node
    call = _find_call(program, text, value)
    if call is None or not isinstance(value, ast.Call):
        return None
    results = call.output
    written = text.line_of(node)
    parts = ", ".join(map(_format_result, results[:MOST]))
    message = (
        f"`{written}` is all that `{call.class_name}` returns, a tuple of {parts}: one"
        " of them is meant here"
    )
    related = []
    if value is not node:
        related.append(
            Related(text.span(value), f"`{text.written(value.func)}` is called here")
        )
    back = _find_return(program, call)
    if back is not None:
        related.append(Related(back[0].span(back[1]), "it returns them here"))
    fixes = tuple(_suggest_one(text, node, value, results))
    return Explanation(message, tuple(related), fixes)


def _find_call(
    program: Program, text: SourceText, value: ast.expr | None
) -> ModuleCall | None:
    """Return the last call of a module that an expression is, if it returned a tuple
    with tensors.
    """
    if not isinstance(value, ast.Call):
        return None
    span = text.span(value)
    for call in reversed(program.trace.calls):
        output = call.output
        if call.span == span and isinstance(output, tuple) and len(output) > 1:
            return call if isinstance(output[0], Fact) else None
    return None


def _find_return(
    program: Program, call: ModuleCall
) -> tuple[SourceText, ast.Return] | None:
    """Return the only `return` of a model's own `forward`."""
    for text in program.own_texts():
        for _, function in text.functions(f"{call.class_name}.forward"):
            returns = [n for n in ast.walk(function) if isinstance(n, ast.Return)]
            if len(returns) == 1:
                return text, returns[0]
    return None


def _format_result(result: object) -> str:
    """Return a result in words: its shape, or what it is."""
    if isinstance(result, Fact):
        return f"({', '.join(map(str, result.shape))}{',' * (result.ndim == 1)})"
    return f"a {type(result).__name__}"


def _suggest_one(
    text: SourceText, node: ast.expr, value: ast.Call, results: tuple[object, ...]
) -> Iterator[Fix]:
    """Suggest the first tensor, where the model is called if a name holds them all."""
    statement = text.statement_of(value)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_named = value is not node and len(targets) == 1
    if is_named and isinstance(statement, ast.Assign) and statement.value is value:
        name = text.written(targets[0])
        rest = ", _" if len(results) == 2 else ", *_"
        new = f"{name}{rest}"
        shown = f"`{new} = {text.line_of(value)}`"
        yield Fix("fits", shown, (Edit(text.span(targets[0]), new),))
    for at, result in enumerate(results[:2]):
        if isinstance(result, Fact):
            new = f"{text.line_of(node)}[{at}]"
            yield Fix("fits", f"`{new}`", (Edit(text.span(node).end, f"[{at}]"),))
