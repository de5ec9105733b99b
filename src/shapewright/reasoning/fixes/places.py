"""Lines of the program on which the mistake behind a failure may sit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.reasoning.causes import way
from shapewright.reasoning.explaining import both_sides, sides
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.definitions import defining
from shapewright.source.expressions import Text
from shapewright.source.span import Span
from shapewright.trace.op import Op

Line = tuple[str, int]


NEAREST = 20
"""Ops before a failure that are looked at."""


def suspects(program: Program, failure: Failure) -> list[Line]:
    """The failing line, the lines that its explanation names, and those behind them.

    Behind them stand the calls that made what came in, the nearest first, the layers
    that did, where those are built, and what their names stand for.
    """
    op = program.trace.ops[failure.op]
    spans: list[Span | None] = [op.span]
    spans += [each.span for each in both_sides(program, failure)]
    layer = program.layer(op)
    if layer is not None:
        spans += built_spans(program, layer.path)
    _, got = sides(failure)
    for at, fact in enumerate(op.inputs):
        dims = [got[1]] if got is not None and got[0] == at else range(len(fact.shape))
        for dim in dims:
            steps = way(program, fact, dim)
            for each in [*(step.op for step in steps.steps[:6]), steps.op]:
                if each is not None:
                    spans += spans_of(program, each)
    for each in lineage(program, op):
        spans += spans_of(program, each)
    for frame in reversed(op.frames):
        spans.append(frame.span)
    found = dict.fromkeys(line for span in spans for line in lines_of(span))
    for text, node in definitions(program, list(found)):
        if not isinstance(node, ast.Constant):
            found.setdefault((text.file, node.lineno))
    return list(found)


def suspects_of_error(program: Program, span: Span | None) -> list[Line]:
    """The line of an error of the program itself, and what its names stand for."""
    found = dict.fromkeys(lines_of(span))
    for _ in range(2):
        for text, node in definitions(program, list(found)):
            found.setdefault((text.file, node.lineno))
    return list(found)


def lineage(program: Program, op: Op) -> Iterator[Op]:
    """The ops that made what an op was given, the nearest first."""
    seen: set[int] = set()
    queue = [fact.tensor for fact in op.inputs]
    for _ in range(NEAREST):
        maker = None
        while queue and maker is None:
            tensor = queue.pop(0)
            maker = program.producers.get(tensor) if tensor not in seen else None
            seen.add(tensor)
        if maker is None:
            return
        yield maker
        queue += [fact.tensor for fact in maker.inputs]


def spans_of(program: Program, op: Op) -> Iterator[Span | None]:
    """Where an op stands, and where the layer that made it is built."""
    yield op.span
    layer = program.layer(op)
    if layer is not None:
        yield from built_spans(program, layer.path)


def built_spans(program: Program, path: str) -> Iterator[Span]:
    """Where a module is built, and each that holds it."""
    while path:
        if path in program.built:
            yield program.built[path].span
        path = path.rpartition(".")[0]


def lines_of(span: Span | None) -> Iterator[Line]:
    """Every line of a span."""
    if span is not None:
        for number in range(span.line, span.end_line + 1):
            yield span.file, number


def nodes_on(
    program: Program, lines: list[Line], *kinds: type[ast.AST]
) -> Iterator[tuple[Text, ast.expr]]:
    """Expressions of these kinds that begin on these lines, in the lines' order."""
    for file, number in lines:
        text = program.text(file)
        for node in text.near(number) if text is not None else ():
            wanted = isinstance(node, kinds) and isinstance(node, ast.expr)
            if text is not None and wanted:
                yield text, node  # type: ignore[misc]


def definitions(program: Program, lines: list[Line]) -> Iterator[tuple[Text, ast.expr]]:
    """What gives the names on these lines their numbers: defaults, constants, calls.

    A parameter's default, a constant of the module, the argument that the class is
    built with.
    """
    seen: set[tuple[str, str]] = set()
    for text, node in nodes_on(program, lines, ast.Name, ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if (text.file, name) in seen or text.tree is None:
            continue
        seen.add((text.file, name))
        for value in defining(text, name):
            yield text, value
