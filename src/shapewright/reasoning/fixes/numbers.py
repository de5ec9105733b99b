"""Another number where one stands: a size, a dim, a kernel, a padding."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.fixes.constructors import pairs_of
from shapewright.reasoning.fixes.places import Line, definitions, nodes_on
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.expressions import Text


def of_failure(program: Program, failure: Failure, lines: list[Line]) -> Iterator[Fix]:
    """Numbers near the failure, changed so that the two sides may meet."""
    pairs = pairs_of(program, failure)
    yield from of_names(program, failure, pairs[:1])
    yield from changed(program, lines, pairs)


def of_names(
    program: Program, failure: Failure, pairs: list[tuple[int, int]]
) -> Iterator[Fix]:
    """`n_classes + 1` for a name in the failing call, where one is missing."""
    found = program.node(program.trace.ops[failure.op].span)
    if found is None or not isinstance(found[1], ast.Call):
        return
    text, call = found[0], found[1]
    given = [*call.args, *(word.value for word in call.keywords)]
    rows = [(text, each) for each in given]
    for place, node in definitions(program, [(text.file, call.lineno)]):
        if isinstance(node, ast.List | ast.Tuple):
            rows += [(place, each) for each in reversed(node.elts)]
    for has, needs in pairs:
        for place, node in rows if abs(has - needs) <= 1 else ():
            if isinstance(node, ast.Name | ast.Attribute):
                for sign in "+-" if needs > has else "-+":
                    yield replaced(place, node, f"{place.written(node)} {sign} 1")


def of_dims(program: Program, failure: Failure) -> Iterator[Fix]:
    """Another dim where the call names one that is not there."""
    if failure.error != "IndexError":
        return
    op = program.trace.ops[failure.op]
    rank = max((len(fact.shape) for fact in op.inputs), default=0)
    found = program.node(op.span)
    if found is None or not isinstance(found[1], ast.Call):
        return
    text, call = found[0], found[1]
    given = [*call.args, *(word.value for word in call.keywords)]
    for node in given:
        if isinstance(node, ast.Tuple | ast.List):
            values = [signed(each) for each in node.elts]
            left = [v for v in values if v is not None and -rank <= v < rank]
            if left and len(left) < len(values) and None not in values:
                new = str(left[0]) if len(left) == 1 else str(tuple(left))
                yield replaced(text, node, new)
        value = signed(node)
        if value is None or -rank <= value < rank:
            continue
        near_first = sorted(range(-1, rank), key=lambda dim: dim < 0)
        for dim in [*reversed(near_first[:-1]), -1]:
            yield replaced(text, node, str(dim))


def signed(node: ast.expr) -> int | None:
    """A whole number with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    return number_of(node)


def changed(
    program: Program, lines: list[Line], pairs: list[tuple[int, int]]
) -> Iterator[Fix]:
    """Each number on these lines, then each that these lines rest on."""
    found = [
        *nodes_on(program, lines, ast.Constant),
        *(
            (text, inner)
            for text, node in definitions(program, lines)
            if isinstance(node, ast.Constant | ast.BinOp | ast.Tuple | ast.List)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Constant)
        ),
    ]
    likely: list[tuple[int, Fix]] = []
    for place, (text, node) in enumerate(definitions(program, lines)):
        if isinstance(node, ast.Name | ast.Attribute) and is_given(text, node):
            for has, needs in pairs[:1]:
                for new in (needs, has):
                    likely.append((50 + place, replaced(text, node, str(new))))
    for place, (text, node) in enumerate(found):
        value = number_of(node)
        if value is None:
            continue
        for closeness, new in numbers(value, pairs, text, node):
            likely.append((closeness * 100 + place, replaced(text, node, str(new))))
    likely.sort(key=lambda pair: pair[0])
    for _, fix in likely:
        yield fix


def is_given(text: Text, node: ast.expr) -> bool:
    """Whether an expression is an argument of a call."""
    around = text.parents.get(id(node))
    return isinstance(around, ast.Call | ast.keyword)


def number_of(node: ast.expr) -> int | None:
    """The whole number that an expression is."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def numbers(
    value: int, pairs: list[tuple[int, int]], text: Text, node: ast.expr
) -> Iterator[tuple[int, int]]:
    """Other numbers that may be meant, each with how far-fetched it is."""
    for has, needs in pairs:
        if value == has:
            yield 0, needs
        if value == needs:
            yield 0, has
    for has, needs in pairs:
        for one, other in ((has, needs), (needs, has)):
            if one and value > 1 and value * other % one == 0 and other != one:
                yield 1, value * other // one
            if value > 2 and value + other - one > 0 and other != one:
                yield 2, value + other - one
    word = text.parents.get(id(node))
    dim = isinstance(word, ast.keyword) and word.arg in ("dim", "axis", "start_dim")
    if value in (-2, -1, 0, 1, 2, 3) or dim:
        for new in (0, 1, 2, 3):
            if new != value:
                yield 1 if dim else 3, new
    yield 3, value + 1
    if value > 1:
        yield 3, value - 1
    if not pairs and value > 2:
        for step, new in enumerate((value * 2, value // 2, value + 2, value - 2)):
            yield 4 + step, new
        for step in (3, 4):
            yield 8, value + step
            yield 8, max(1, value - step)


def replaced(text: Text, node: ast.expr, new: str) -> Fix:
    """A number replaced; the message shows the smallest call around it."""
    span = text.span(node)
    around: ast.AST | None = node
    while around is not None and not isinstance(around, ast.Call | ast.stmt):
        around = text.parents.get(id(around))
    outer = text.span(around) if isinstance(around, ast.Call | ast.stmt) else span
    shown = new
    if outer.line == outer.end_line == span.line:
        line = text.lines[span.line - 1]
        shown = (
            line[outer.column - 1 : span.column - 1]
            + new
            + line[span.end_column - 1 : outer.end_column - 1]
        )
    shown = shown if len(shown) <= 72 else new
    return Fix("fits", f"`{shown.strip()}`", (Edit(span, new),))
