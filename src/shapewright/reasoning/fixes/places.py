"""Lines of the program on which the mistake behind a failure may sit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.reasoning.causes import way
from shapewright.reasoning.explaining import both_sides, sides
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.expressions import Text
from shapewright.source.span import Span

Line = tuple[str, int]


def suspects(program: Program, failure: Failure) -> list[Line]:
    """The failing line, the lines that its explanation names, and those behind them."""
    found: dict[Line, None] = {}
    op = program.trace.ops[failure.op]
    for span in [op.span, *(each.span for each in both_sides(program, failure))]:
        for line in lines_of(span):
            found.setdefault(line)
    _, got = sides(failure)
    for at, fact in enumerate(op.inputs):
        dims = [got[1]] if got is not None and got[0] == at else range(len(fact.shape))
        for dim in dims:
            steps = way(program, fact, dim)
            ops = [step.op for step in steps.steps[:6]] + [steps.op]
            for each in ops:
                for line in lines_of(each.span if each is not None else None):
                    found.setdefault(line)
    layer = program.layer(op)
    if layer is not None and layer.path in program.built:
        for line in lines_of(program.built[layer.path].span):
            found.setdefault(line)
    for frame in reversed(op.frames):
        for line in lines_of(frame.span):
            found.setdefault(line)
    return list(found)


def lines_of(span: Span | None) -> Iterator[Line]:
    """Every line of a span."""
    if span is not None:
        for number in range(span.line, span.end_line + 1):
            yield span.file, number


def nodes_on(
    program: Program, lines: list[Line], *kinds: type[ast.AST]
) -> Iterator[tuple[Text, ast.expr]]:
    """Expressions of these kinds that begin on these lines, in the lines' order."""
    by_file: dict[str, dict[int, list[ast.expr]]] = {}
    for file, number in lines:
        text = program.text(file)
        if text is None or text.tree is None:
            continue
        if file not in by_file:
            table = by_file[file] = {}
            for node in ast.walk(text.tree):
                if isinstance(node, ast.expr):
                    table.setdefault(node.lineno, []).append(node)
        for node in by_file[file].get(number, ()):
            if isinstance(node, kinds):
                yield text, node


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
        yield from defining(text, name)


def defining(text: Text, name: str) -> Iterator[tuple[Text, ast.expr]]:
    """Expressions that a name stands for, anywhere in its file."""
    assert text.tree is not None
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args]
            given = arguments.defaults
            pairs = list(zip(named[len(named) - len(given) :], given, strict=True))
            for each, value in zip(
                arguments.kwonlyargs, arguments.kw_defaults, strict=True
            ):
                if value is not None:
                    pairs.append((each, value))
            for argument, value in pairs:
                if argument.arg == name:
                    yield text, value
            place = place_of(node, name)
            if place is not None:
                yield from handed(text, node, place)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            own = target.id if isinstance(target, ast.Name) else ""
            own = target.attr if isinstance(target, ast.Attribute) else own
            if own == name:
                yield text, node.value
        elif isinstance(node, ast.keyword) and node.arg == name:
            yield text, node.value


def place_of(node: ast.FunctionDef, name: str) -> int | None:
    """The place of a parameter in a call of the function; `self` is not given."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    if name not in names:
        return None
    return names.index(name) - (1 if names[:1] == ["self"] else 0)


def handed(
    text: Text, node: ast.FunctionDef, place: int
) -> Iterator[tuple[Text, ast.expr]]:
    """What calls of a function, or of the class that it builds, give at a place."""
    assert text.tree is not None
    owner = text.around(node, ast.ClassDef)
    name = node.name
    if name == "__init__" and isinstance(owner, ast.ClassDef):
        name = owner.name
    for call in ast.walk(text.tree):
        if isinstance(call, ast.Call) and 0 <= place < len(call.args):
            called = call.func
            own = called.id if isinstance(called, ast.Name) else ""
            own = called.attr if isinstance(called, ast.Attribute) else own
            if own == name and not isinstance(call.args[place], ast.Starred):
                yield text, call.args[place]
