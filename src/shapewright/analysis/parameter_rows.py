"""The rows of a parameter in place of the parameter: `chain(*net.parameters())` goes
through each of them, and no optimizer takes a row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name, iter_assignments

WEIGHTS = ("weight", "bias")
JOINING = ("chain", "list", "sum")
"""Functions that go through each of their arguments, or through one."""


def find_parameter_rows(
    program: Program, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Return why an optimizer got the rows of parameters, or None if it did not."""
    split = next(
        (
            op.inputs[0]
            for op in program.trace.ops
            if op.name.rpartition(".")[2] == "unbind" and op.inputs
            if op.inputs[0].requires_grad
            if op.inputs[0].tensor not in program.producers
        ),
        None,
    )
    value = _find_parameters(text, node)
    if split is None or value is None:
        return None
    fixes = [*_suggest_without_stars(text, value), *_suggest_in_list(text, value)]
    message = (
        f"the optimizer gets the rows of a parameter {format_shape(split)}: each is a"
        " view of it, no leaf, and cannot be optimized by itself"
    )
    where = Related(
        text.span(value), f"its rows are taken here, in `{_show(text, value)}`"
    )
    return Explanation(message, (where,), tuple(fixes))


def _show(text: SourceText, value: ast.expr) -> str:
    return join_lines(text.written(value))


def _find_parameters(text: SourceText, node: ast.AST) -> ast.expr | None:
    """Return what an optimizer was values, as it was written before it got a name."""
    values = [
        word.value for word in getattr(node, "keywords", ()) if word.arg == "params"
    ]
    values += getattr(node, "args", ())[:1]
    if not values:
        return None
    value: ast.expr = values[0]
    scope = text.around(node, ast.FunctionDef) or text.tree
    if isinstance(value, ast.Name):
        for target, assigned in iter_assignments(scope, before=values[0].lineno):
            if isinstance(target, ast.Name) and target.id == value.id:
                return assigned
    return value


def _suggest_without_stars(text: SourceText, value: ast.expr) -> Iterator[Fix]:
    """Suggest `chain(a.parameters(), b.parameters())`, without `*`."""
    if not isinstance(value, ast.Call) or get_called_name(value) not in JOINING:
        return
    stars = [argument for argument in value.args if isinstance(argument, ast.Starred)]
    if not stars:
        return
    edits = tuple(Edit(text.span(star), text.written(star.value)) for star in stars)
    shown = _show(text, value)
    for star in stars:
        shown = shown.replace(_show(text, star), _show(text, star.value))
    yield Fix("fits", f"`{shown}`", edits)


def _suggest_in_list(text: SourceText, value: ast.expr) -> Iterator[Fix]:
    """Suggest `[net.weight]` for a parameter that stands where a list belongs."""
    for part in ast.walk(value):
        if not isinstance(part, ast.Attribute) or part.attr not in WEIGHTS:
            continue
        parent = text.parent(part)
        written = text.written(part)
        if isinstance(parent, ast.Starred):
            yield Fix("fits", f"`{written}`", (Edit(text.span(parent), written),))
        elif isinstance(parent, ast.Call) and part in parent.args:
            new = f"[{written}]"
            yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))
