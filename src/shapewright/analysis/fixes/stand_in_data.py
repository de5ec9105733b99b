"""Tell fixes apart that only change the data on which a program is tried.

Where both sides of a mismatch in a model come from the same dim of its input, the model
does not fit data of that size, and other numbers in `torch.rand(...)` mend nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span

FACTORIES = operators_with("is_sized_factory", "is_range_factory")
DRAWS = operators_with("is_random") | FACTORIES


def has_shared_source(program: Program, failure: Failure) -> bool:
    """Return whether both sides of a mismatch in a model are the same dim of its input,
    changed in two ways, or what it returns is compared with its input.
    """
    op = program.trace.ops[failure.op]
    wanted, got = find_sides(failure)
    if wanted is None or got is None or wanted[0] == got[0]:
        return False
    ends = [trace_dim(program, op.inputs[at], dim) for at, dim in (wanted, got)]
    if any(end.why == "parameter" for end in ends):
        return False
    changed = [bool(end.steps) for end in ends]
    if not all(changed) and (op.module or not any(changed)):
        return False
    left, other = ends
    return (left.fact.tensor, left.dim) == (other.fact.tensor, other.dim)


def make_filter(program: Program) -> Callable[[Fix], bool]:
    """Return a function that tells whether a fix edits nothing but the calls that make
    data outside all models, or the numbers that only they read.
    """
    built = {module.span for module in program.built.values()}
    spans = [
        op.span
        for op in program.trace.ops
        if op.span is not None
        and op.span not in built  # draws the weights of a layer
        and not op.inputs
        and not op.module
        and op.name.rpartition(".")[2] in FACTORIES
    ]
    known = list(dict.fromkeys([*spans, *_find_calls_of_makers(program)]))

    def is_of_data(fix: Fix) -> bool:
        texts = [program.text(edit.span.file) for edit in fix.edits]
        return bool(fix.edits) and all(
            text is not None
            and (is_within(edit.span, known) or _is_read_there(text, edit.span, known))
            for edit, text in zip(fix.edits, texts, strict=True)
        )

    return is_of_data


def make_filter_of_makers(program: Program) -> Callable[[Fix], bool]:
    """Return a function that tells whether a fix edits nothing but what the program
    gives to its own functions that make data.
    """
    known = list(_find_calls_of_makers(program))

    def is_of_makers(fix: Fix) -> bool:
        return bool(fix.edits) and all(
            is_within(edit.span, known) for edit in fix.edits
        )

    return is_of_makers


def _find_calls_of_makers(program: Program) -> set[Span]:
    """Return the calls of the program's own functions that make data, and neither call
    a model nor build one, whose first weights are drawn too.
    """
    built = {module.span for module in program.built.values()}
    makers: set[Span] = set()
    others: set[Span] = set()
    for op in program.trace.ops:
        if op.module:
            others.update(frame.span for frame in op.frames)
        elif built & {frame.span for frame in op.frames}:
            continue
        elif not op.inputs and op.name.rpartition(".")[2] in DRAWS:
            makers.update(frame.span for frame in op.frames)
    return makers - others


def is_within(span: Span, spans: list[Span]) -> bool:
    """Return whether a span lies in one of others."""
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    return any(
        place.file == span.file
        and (place.line, place.column) <= start
        and end <= (place.end_line, place.end_column)
        for place in spans
    )


def _is_read_there(text: SourceText, span: Span, spans: list[Span]) -> bool:
    """Return whether a span is a number whose name is read in these calls only."""
    node = text.node(span)
    statement = text.statement_of(node) if node is not None else None
    scope: ast.AST | None = None
    if isinstance(statement, ast.FunctionDef) and isinstance(node, ast.expr):
        scope = statement
        names = _list_names_of_default(statement, node)
    elif isinstance(statement, ast.Assign):
        names = {name.id for target in statement.targets for name in ast.walk(target)
                 if isinstance(name, ast.Name)}  # fmt: skip
    else:
        return False
    reads = [
        name
        for name in (text.nodes if scope is None else ast.walk(scope))
        if isinstance(name, ast.Name)
        and name.id in names
        and isinstance(name.ctx, ast.Load)
    ]
    return bool(reads) and all(is_within(text.span(read), spans) for read in reads)


def _list_names_of_default(function: ast.FunctionDef, node: ast.expr) -> set[str]:
    """Return the parameter that an expression is the default of."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    first = len(named) - len(arguments.defaults)
    pairs = [
        *zip(named[first:], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {parameter.arg for parameter, value in pairs if value is node}
