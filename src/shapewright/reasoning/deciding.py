"""Where in the text a failing line's names and numbers were decided."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from shapewright.findings.finding import Related
from shapewright.reasoning.construction import known_value
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.definitions import defining
from shapewright.source.expressions import Text
from shapewright.source.span import Span
from shapewright.trace.op import Op

DEEP = 4
"""How many names a number is followed back through."""
LONGEST = 50
"""Characters of an expression that a message quotes."""


def decided(program: Program, failure: Failure) -> Iterator[Related]:
    """What the names of the failing call stand for, and where its numbers are set."""
    op = program.trace.ops[failure.op]
    found = program.node(op.span)
    if found is None:
        return
    text, node = found
    yield from assigned(text, node)
    yield from attributes(program, op)
    for fact in op.inputs:
        maker = program.producers.get(fact.tensor)
        made = program.node(maker.span) if maker is not None else None
        if made is not None and maker is not None and len(maker.inputs) < 2:
            yield from assigned(*made)
    unmet = failure.unmet
    wanted = (unmet.has, unmet.needs) if unmet is not None else ()
    numbers = {each for each in wanted if type(each) is int and each > 1}
    yield from numbers_of(text, node, numbers)


def of_line(program: Program, span: Span | None) -> Iterator[Related]:
    """What the names of a line stand for that raised an error of its own."""
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return
    for node in text.near(span.line):
        yield from assigned(text, node)
        for name in names_in(node):
            for place in sources(text, name, None, DEEP):
                said = f"`{name}` is {known_value(place)} from here"
                yield Related(text.span(place), said)
        return


def once(related: Iterable[Related], known: Iterable[Span | None]) -> list[Related]:
    """The first of each line, without lines that are known."""
    lines = {(span.file, span.line) for span in known if span is not None}
    found = []
    for each in related:
        place = each.span.file, each.span.line
        if place not in lines:
            lines.add(place)
            found.append(each)
    return found


def assigned(text: Text, node: ast.AST) -> Iterator[Related]:
    """The last assignment of each name of a line, in the same function."""
    scope = text.around(node, ast.FunctionDef)
    line = getattr(node, "lineno", 0)
    if scope is None:
        return
    last: dict[str, ast.expr] = {}
    for each in ast.walk(scope):
        if isinstance(each, ast.Assign) and each.lineno < line:
            for target in each.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        last[name.id] = each.value
    for word in names_in(node):
        value = last.get(word)
        if value is not None:
            yield Related(text.span(value), f"`{word}` is{quoted(text, value)}")


def names_in(node: ast.AST) -> list[str]:
    """The names that an expression reads, each once."""
    found = [
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    ]
    return list(dict.fromkeys(found))


def quoted(text: Text, node: ast.expr) -> str:
    """` `x.mean(1)``, or that it is set there."""
    written = " ".join(text.written(node).split())
    return f" `{written}`" if len(written) <= LONGEST else " set here"


def attributes(program: Program, op: Op) -> Iterator[Related]:
    """Where the class sets the parameters and buffers that a call of its own meets."""
    if program.layer(op) is not None:
        return
    for fact in op.inputs:
        path = program.states.get(fact.tensor, "")
        text = program.text(op.span.file) if path and op.span is not None else None
        name = path.rpartition(".")[2]
        for value in set_in(text, name) if text is not None else ():
            assert text is not None
            yield Related(text.span(value), f"`{name}` is set here")


def set_in(text: Text, name: str) -> Iterator[ast.expr]:
    """Where `self.name` is given its value, or its buffer is registered."""
    for node in ast.walk(text.tree) if text.tree is not None else ():
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == name:
                yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            first = node.args[0] if node.args else None
            registers = node.func.attr in ("register_buffer", "register_parameter")
            if registers and isinstance(first, ast.Constant) and first.value == name:
                yield node


def numbers_of(text: Text, node: ast.AST, wanted: set[int]) -> Iterator[Related]:
    """Where a name of a call got a number that does not fit."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute) and wanted:
            name = each.id if isinstance(each, ast.Name) else each.attr
            for place in sources(text, name, wanted, DEEP):
                said = f"{known_value(place)} comes from here"
                yield Related(text.span(place), said)
                break


def sources(
    text: Text, name: str, wanted: set[int] | None, deep: int
) -> Iterator[ast.expr]:
    """Numbers that a name stands for in the end, where given those of these values."""
    for value in defining(text, name) if deep else ():
        number = known_value(value)
        if number is not None and (wanted is None or number in wanted):
            yield value
        elif isinstance(value, ast.Name | ast.Attribute):
            inner = value.id if isinstance(value, ast.Name) else value.attr
            if inner != name or isinstance(value, ast.Name):
                yield from sources(text, inner, wanted, deep - 1)
        elif isinstance(value, ast.Subscript):
            key = value.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield from sources(text, key.value, wanted, deep - 1)
