"""What was meant stands in another place, or under another name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise, permutations

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.explaining import sides
from shapewright.reasoning.fixes.created import wanted_shapes
from shapewright.reasoning.fixes.numbers import signed
from shapewright.reasoning.fixes.places import Line, nodes_on
from shapewright.reasoning.fixes.scope import named_facts
from shapewright.reasoning.naming import tensor_expressions
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.expressions import Text

MOST = 6
"""Other names that are tried in one place."""


def operands(program: Program, failure: Failure) -> Iterator[Fix]:
    """The first two operands of the failing call the other way round."""
    found = program.node(program.trace.ops[failure.op].span)
    if found is None:
        return
    text, node = found
    if isinstance(node, ast.BinOp):
        yield from swapped(text, node, node.left, node.right)
    elif isinstance(node, ast.Call):
        yield from arguments_of(text, node)


def arguments(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Two neighbours among the arguments of a call the other way round."""
    for text, node in nodes_on(program, lines, ast.Call):
        assert isinstance(node, ast.Call)
        yield from arguments_of(text, node)


def arguments_of(text: Text, call: ast.Call) -> Iterator[Fix]:
    """Each two neighbours of one call, and of a tuple in it."""
    rows: list[list[ast.expr]] = [list(call.args)]
    rows += [list(e.elts) for e in call.args if isinstance(e, ast.Tuple | ast.List)]
    for row in rows:
        for one, other in pairwise(row):
            if not isinstance(one, ast.Starred) and not isinstance(other, ast.Starred):
                yield from swapped(text, call, one, other)


def swapped(
    text: Text, whole: ast.expr, one: ast.expr, other: ast.expr
) -> Iterator[Fix]:
    """Two expressions exchanged."""
    first, second = text.written(one), text.written(other)
    if first == second or "\n" in first + second:
        return
    edits = (Edit(text.span(one), second), Edit(text.span(other), first))
    span = text.span(whole)
    said = f"`{second}` and `{first}` the other way round"
    if span.line == span.end_line and len(text.written(whole)) <= 72:
        line, shift = text.written(whole), span.column
        for edit in reversed(edits):
            start, end = edit.span.column - shift, edit.span.end_column - shift
            line = line[:start] + edit.text + line[end:]
        said = f"`{line}`"
    yield Fix("fits", said, edits)


def orders(program: Program, failure: Failure, keeping: bool) -> Iterator[Fix]:
    """Another order in the `permute` that made an operand.

    `keeping`: those that leave the batch in front where the program moves it; else
    the others.
    """
    _, got = sides(failure)
    op = program.trace.ops[failure.op]
    if got is None or failure.unmet is None:
        return
    fact, needs = op.inputs[got[0]], failure.unmet.needs
    for _ in range(6):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs or maker.inputs[0].shape != fact.shape:
            break
        fact = maker.inputs[0]
    found = program.node(maker.span) if maker is not None and maker.inputs else None
    if found is None or maker is None or not maker.name.endswith(".permute"):
        return
    text, call = found
    given = list(call.args) if isinstance(call, ast.Call) else []
    before = [signed(node) for node in given]
    shape = maker.inputs[0].shape
    for order in permutations(range(len(shape))) if len(shape) < 5 else ():
        fits = shape[order[got[1]]] == needs and len(given) == len(shape)
        if fits and (before[0] != 0 and order[0] == 0) == keeping:
            new = ", ".join(map(str, order))
            span = text.span(given[0]).until(text.span(given[-1]))
            yield Fix("fits", f"`permute({new})`", (Edit(span, new),))


def names(program: Program, failure: Failure) -> Iterator[Fix]:
    """Another tensor in sight in the place of one that does not fit."""
    op = program.trace.ops[failure.op]
    found = program.node(op.span)
    if found is None:
        return
    text = found[0]
    wanted: dict[int, list[tuple[int, ...]]] = {}
    for at, shape in wanted_shapes(program, failure):
        wanted.setdefault(at, []).append(shape)
    for at, place in enumerate(tensor_expressions(program, op)):
        if place is None or not isinstance(place[0], ast.Name) or at not in wanted:
            continue
        node, fact = place[0], op.inputs[at]
        others = named_facts(program, op, text, node)
        kind = fact.dtype.rstrip("0123456789")
        same = [
            name
            for name, each in others.items()
            if name != node.id and each.dtype.rstrip("0123456789") == kind
        ]
        there = {each.id for each in ast.walk(found[1]) if isinstance(each, ast.Name)}
        exact = [
            name
            for name in same
            if others[name].shape in wanted[at] and name not in there
        ]
        for name in exact[:MOST]:
            yield Fix(
                "fits", f"`{name}` for `{node.id}`", (Edit(text.span(node), name),)
            )


def numbers_by_name(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """Another number in sight where a name stands among the arguments of a call."""
    for text, node in nodes_on(program, lines, ast.Name, ast.Attribute):
        inside = text.parents.get(id(node))
        while isinstance(inside, ast.BinOp | ast.Tuple | ast.List | ast.keyword):
            inside = text.parents.get(id(inside))
        if not isinstance(inside, ast.Call) or inside.func is node:
            continue
        written = text.written(node)
        for name in [each for each in beside(text, node) if each != written][:MOST]:
            shown = text.written(inside)
            said = f"`{name}` for `{written}`"
            if "\n" not in shown and len(shown) <= 72:
                start = text.span(node).column - text.span(inside).column
                said = f"`{shown[:start]}{name}{shown[start + len(written) :]}`"
            yield Fix("fits", said, (Edit(text.span(node), name),))


def beside(text: Text, node: ast.expr) -> Iterator[str]:
    """Names that may stand for a number where a name or an attribute of `self` does.

    For a name of a constructor its parameters and the numbers that it works out; for
    `self.size` the other numbers that the class keeps.
    """
    scope = text.around(node, ast.FunctionDef)
    if not isinstance(scope, ast.FunctionDef):
        return
    if isinstance(node, ast.Name) and scope.name == "__init__":
        own = [each.arg for each in (*scope.args.args[1:], *scope.args.kwonlyargs)]
        own += [name for name, _ in kept(scope, ast.Name, node.lineno)]
        if node.id in own:
            yield from dict.fromkeys(own)
    elif isinstance(node, ast.Attribute) and is_own(node):
        owner = text.around(node, ast.ClassDef)
        if owner is not None:
            own = [f"self.{name}" for name, _ in kept(owner, ast.Attribute, None)]
            if text.written(node) in own:
                yield from dict.fromkeys(own)


def kept(
    scope: ast.AST, kind: type[ast.AST], before: int | None
) -> Iterator[tuple[str, ast.expr]]:
    """Names, or attributes of `self`, that are given a number in a scope."""
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], kind):
            continue
        if before is not None and node.lineno >= before:
            continue
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Name | ast.BinOp | ast.Constant | ast.Attribute):
            if isinstance(target, ast.Name):
                yield target.id, value
            elif isinstance(target, ast.Attribute) and is_own(target):
                yield target.attr, value


def is_own(node: ast.Attribute) -> bool:
    """Whether it is an attribute of `self`."""
    return isinstance(node.value, ast.Name) and node.value.id == "self"
