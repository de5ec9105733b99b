"""Random starts of a crop that is longer than what it is cut of, as of a spectrogram
whose frames lie along its other dim: `torch.randint(0, -47, (1,))`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_shape_owner,
    iter_assignments,
)
from shapewright.record.ops import Fact

EMPTY = re.compile(r"expects 'from' to be less than 'to'.*from=(-?\d+) >= to=(-?\d+)")


def explain_empty_draw(program: Program, finding: Finding) -> Explanation | None:
    """Return which size makes the range of a random number empty, and the transposition
    of a matrix whose other dim is long enough.
    """
    bounds, place = EMPTY.search(finding.words), program.node(finding.span)
    if bounds is None or place is None:
        return None
    text, node = place
    calls = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and get_called_name(part) == "randint"
    ]
    if not calls or len(calls[0].args) < 2:
        return None
    call = calls[0]
    bound = call.args[1] if len(call.args) > 2 else call.args[0]
    low, high = bounds.groups()
    message = f"`randint` draws from {low} to {high}: nothing lies between"
    for read, owner, dim in _iter_sizes(bound):
        for value, fact in _iter_makers(program, text, owner):
            if fact is not None and -fact.ndim <= dim < fact.ndim:
                shape, size = format_shape(fact), fact.shape[dim]
                message += f", as `{text.written(read)}` is {size} of {shape}"
                if fact.ndim != 2 or size >= fact.shape[1 - dim % 2]:
                    continue
            else:
                message += f": `{text.written(read)}` is too small"
            new = f"({text.written(value)}).T"
            if isinstance(value, ast.Call | ast.Name | ast.Subscript):
                new = f"{text.written(value)}.T"
            fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))
            return Explanation(message, (), (fix,))
    return Explanation(message)


def _iter_sizes(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, int]]:
    """Yield what reads a size in an expression, its tensor and the dim."""
    for part in ast.walk(node):
        owner, dim = None, None
        if isinstance(part, ast.Subscript):
            owner, dim = get_shape_owner(part.value), part.slice
        elif isinstance(part, ast.Call) and len(part.args) == 1:
            owner, dim = get_shape_owner(part), part.args[0]
        number = evaluate_whole_number(dim) if dim is not None else None
        if owner is not None and number is not None and isinstance(part, ast.expr):
            yield part, owner, number


def _iter_makers(
    program: Program, text: SourceText, owner: ast.expr
) -> Iterator[tuple[ast.expr, Fact | None]]:
    """Yield the values that a name was given before it is read, the last one first,
    with what they were in the run, if that is recorded.
    """
    scope = text.around(owner, *FUNCTIONS) or text.tree
    values = [
        value
        for target, value in iter_assignments(scope)
        if text.written(target) == text.written(owner) and value.lineno < owner.lineno
    ]
    for value in reversed(values):
        op = program.op_at(text.span(value))
        yield value, op.outputs[0] if op is not None and op.outputs else None
