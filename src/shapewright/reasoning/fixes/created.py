"""Other sizes where a tensor is made: `torch.zeros(n, 1)` for `torch.zeros(n)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.causes import way
from shapewright.reasoning.deciding import set_in
from shapewright.reasoning.fixes.scope import (
    function_around,
    names_for,
    size_in_words,
    statements,
)
from shapewright.reasoning.fixes.words import last_name
from shapewright.reasoning.program import Program
from shapewright.rules.meta import Made
from shapewright.rules.needs.failure import Failure, Repair
from shapewright.source.expressions import Text
from shapewright.trace.fact import Fact
from shapewright.trace.op import Op

MAKERS = frozenset(
    "zeros ones empty full rand randn randint arange eye new_zeros new_ones new_empty "
    "new_full new_tensor linspace randperm".split()
)
"""Functions that make a tensor of sizes that they are given."""


def of_created(program: Program, failure: Failure) -> Iterator[Fix]:
    """The tensor that does not fit is made with other sizes."""
    op = program.trace.ops[failure.op]
    for at, shape in wanted_shapes(program, failure):
        fact = op.inputs[at]
        maker = program.producers.get(fact.tensor)
        if maker is None or maker.name.rpartition(".")[2] not in MAKERS:
            continue
        yield from resized(program, failure, maker, fact.shape, shape)
    for at, dim, size in wanted_sizes(failure):
        found = way(program, op.inputs[at], dim)
        if found.why == "parameter" and found.fact.tensor in program.states:
            yield from state_with(program, failure, found.fact, found.dim, size)
        maker = found.op
        if maker is None or maker.inputs or found.dim >= len(found.fact.shape):
            continue
        if maker.name.rpartition(".")[2] in MAKERS and found.steps:
            before = found.fact.shape
            if before[found.dim] == op.inputs[at].shape[dim]:
                after = (*before[: found.dim], size, *before[found.dim + 1 :])
                yield from resized(program, failure, maker, before, after)


def state_with(
    program: Program, failure: Failure, fact: Fact, dim: int, size: int
) -> Iterator[Fix]:
    """A parameter or buffer of the program's own, made with another size."""
    path = program.states[fact.tensor]
    op = program.trace.ops[failure.op]
    text = program.text(op.span.file) if op.span is not None else None
    if text is None:
        return
    after = (*fact.shape[:dim], size, *fact.shape[dim + 1 :])
    for value in set_in(text, path.rpartition(".")[2]):
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and last_name(node.func) in MAKERS:
                yield from resized_call(program, failure, text, node, fact.shape, after)


def wanted_shapes(
    program: Program, failure: Failure
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Shapes with which the call is taken, by the place of the input."""
    op = program.trace.ops[failure.op]
    for grant in failure.unmet.grants if failure.unmet is not None else ():
        if grant.argument in failure.arguments and isinstance(grant.value, Made):
            yield failure.arguments.index(grant.argument), tuple(grant.value.shape)
    for repair in failure.repairs:
        shape = shape_after(op.inputs[repair.tensor].shape, repair)
        if shape is not None:
            yield repair.tensor, shape


def wanted_sizes(failure: Failure) -> Iterator[tuple[int, int, int]]:
    """Input, dim, size: one dim that fits with another size."""
    for repair in failure.repairs:
        if repair.kind == "size" and repair.dim is not None:
            yield repair.tensor, repair.dim, repair.new


def shape_after(shape: tuple[int, ...], repair: Repair) -> tuple[int, ...] | None:
    """A shape with the change of a repair."""
    dim = repair.dim or 0
    if repair.kind == "size":
        return (*shape[:dim], repair.new, *shape[dim + 1 :])
    if repair.kind == "permute":
        return tuple(shape[at] for at in repair.new)
    if repair.kind == "unsqueeze" and repair.new is None:
        return (*shape[:dim], 1, *shape[dim:])
    if repair.kind == "squeeze":
        return (*shape[:dim], *shape[dim + 1 :])
    return None


def resized(
    program: Program,
    failure: Failure,
    maker: Op,
    before: Sequence[int],
    after: tuple[int, ...],
) -> Iterator[Fix]:
    """The call that makes a tensor, with the sizes of another shape."""
    found = program.node(maker.span)
    text, call = found if found is not None else (None, None)
    if text is not None and isinstance(call, ast.Call):
        yield from resized_call(program, failure, text, call, before, after)


def resized_call(
    program: Program,
    failure: Failure,
    text: Text,
    call: ast.Call,
    before: Sequence[int],
    after: tuple[int, ...],
) -> Iterator[Fix]:
    """A call that makes a tensor, with the sizes of another shape."""
    nodes = sizes_of(text, call, len(before))
    if nodes is None:
        return
    written = [text.written(node) for node in nodes]
    words: list[str] = []
    left = list(zip(before, written, strict=True))
    for place, size in enumerate(after):
        same = place < len(before) and len(before) == len(after)
        if same and before[place] == size:
            words.append(written[place])
            continue
        kept = next((each for each in left if each[0] == size and size != 1), None)
        if kept is not None and (sorted(before) == sorted(after) or not same):
            left.remove(kept)
            words.append(kept[1])
            continue
        named = list(names_for(text, nodes[place], size)) if same else []
        words.append(
            named[0] if named else size_in_words(program, failure, text, call, size)
        )
    yield with_words(text, call, nodes, words)


def sizes_of(text: Text, call: ast.Call, rank: int) -> list[ast.expr] | None:
    """The expressions of the sizes in a call, one for each dim.

    A name among the arguments that stands for a tuple is looked up.
    """
    values = [value_of(text, each) for each in call.args]
    for each in values:
        if isinstance(each, ast.Tuple | ast.List):
            sure = not any(isinstance(item, ast.Starred) for item in each.elts)
            return list(each.elts) if len(each.elts) == rank and sure else None
    given = list(call.args)
    if len(given) != rank or any(isinstance(each, ast.Starred) for each in given):
        return None
    return given


def value_of(text: Text, node: ast.expr) -> ast.expr:
    """The tuple that a name is given in the same function, else the node itself."""
    scope = function_around(text, node)
    if isinstance(node, ast.Name) and scope is not None:
        for statement in statements(scope):
            if not isinstance(statement, ast.Assign) or statement.lineno >= node.lineno:
                continue
            target, value = statement.targets[0], statement.value
            named = isinstance(target, ast.Name) and target.id == node.id
            if named and isinstance(value, ast.Tuple):
                return value
    return node


def with_words(
    text: Text, call: ast.Call, nodes: list[ast.expr], words: list[str]
) -> Fix:
    """The sizes of a call replaced as a whole."""
    first, last = text.span(nodes[0]), text.span(nodes[-1])
    span = first.until(last)
    new = ", ".join(words)
    whole, outer = text.written(call), text.span(call)
    said = f"`{new}`" if len(words) < 2 else f"`({new})`"
    inside = outer.line == outer.end_line == span.line
    if inside and outer.column < span.column < outer.end_column:
        start, end = span.column - outer.column, span.end_column - outer.column
        said = f"`{whole[:start]}{new}{whole[end:]}`"
    return Fix("fits", said, (Edit(span, new),))
