"""Less of what came: an operand cut to the size of another, a call left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.fixes.calls import after
from shapewright.reasoning.fixes.places import Line, nodes_on
from shapewright.reasoning.fixes.scope import other_operand
from shapewright.reasoning.naming import is_namespace, tensor_expressions
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.expressions import Text
from shapewright.trace.fact import Fact


def of_larger(program: Program, failure: Failure, table: bool) -> Iterator[Fix]:
    """A table or a mask cut to what meets it: `pos[:, :x.size(1)]`.

    `table`: only what is no work of the input; else only what is.
    """
    op = program.trace.ops[failure.op]
    if len(op.inputs) != 2:
        return
    found = program.node(op.span)
    places = tensor_expressions(program, op)
    for at, place in enumerate(places):
        mine, other = op.inputs[at], op.inputs[1 - at]
        lacking = larger_dims(mine, other)
        if place is None or found is None or not lacking:
            continue
        if is_table(program, mine) != table:
            continue
        known = other_operand(program, failure, at)
        items = []
        for dim in range(max(lacking) + 1):
            if dim not in lacking:
                items.append(":")
                continue
            back = dim - len(mine.shape)
            size = str(other.shape[back])
            if known is not None:
                size = f"{known[1]}.size({back})"
            items.append(f":{size}")
        yield after(found[0], place[0], f"[{', '.join(items)}]")


def is_table(program: Program, fact: Fact) -> bool:
    """Whether a tensor is a state, or made of nothing but states."""
    waiting, seen = [fact], {fact.tensor}
    while waiting:
        one = waiting.pop()
        if one.tensor in program.inputs:
            return False
        maker = program.producers.get(one.tensor)
        if one.tensor in program.states or maker is None:
            continue
        new = [each for each in maker.inputs if each.tensor not in seen]
        seen.update(each.tensor for each in new)
        waiting += new
    return True


def larger_dims(mine: Fact, other: Fact) -> list[int]:
    """Dims that are longer than those of another tensor, the rest lines up."""
    found = []
    for back in range(1, min(len(mine.shape), len(other.shape)) + 1):
        one, two = mine.shape[-back], other.shape[-back]
        if one == two or 1 in (one, two):
            continue
        if one < two:
            return []
        found.append(len(mine.shape) - back)
    return found


def layers(program: Program, failure: Failure) -> Iterator[Fix]:
    """A norm that cannot work here left out."""
    op = program.trace.ops[failure.op]
    unmet = failure.unmet
    if unmet is None or unmet.code != "one-value-per-channel":
        return
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    found = program.node(built.span) if built is not None else None
    if found is not None and isinstance(found[1], ast.Call):
        text, call = found
        yield Fix("fits", "`nn.Identity()`", (Edit(text.span(call), "nn.Identity()"),))
    found = program.node(op.span)
    if found is not None and isinstance(found[1], ast.Call) and found[1].args:
        yield from left_out(found[0], found[1])


def left_out(text: Text, call: ast.Call) -> Iterator[Fix]:
    """A call replaced by what it was given."""
    if len(call.args) == 1 and not call.keywords:
        kept = text.written(call.args[0])
        yield Fix("fits", f"`{kept}`", (Edit(text.span(call), kept),))


def flattens(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """`flatten(1)` for `flatten()`, which puts the samples of a batch into one row."""
    for text, node in nodes_on(program, lines, ast.Call):
        assert isinstance(node, ast.Call)
        func = node.func
        if not isinstance(func, ast.Attribute) or node.keywords:
            continue
        function = is_namespace(func.value)
        if func.attr != "flatten" or len(node.args) != int(function):
            continue
        inside = text.span(node).end
        place = replace(inside, column=inside.column - 1, end_column=inside.column - 1)
        word = ", 1" if function else "1"
        said = f"`{text.written(node)[:-1]}{word})`"
        yield Fix("fits", said, (Edit(place, word),))


def squeezes(program: Program, lines: list[Line]) -> Iterator[Fix]:
    """`squeeze(1)` for `squeeze()`, which takes the batch away too."""
    for text, node in nodes_on(program, lines, ast.Call):
        assert isinstance(node, ast.Call)
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr != "squeeze":
            continue
        if node.args or node.keywords:
            continue
        span = text.span(node)
        kept = text.written(func.value)
        for dim in (1, -1, 0, 2):
            said = f"`{kept}.squeeze({dim})`" if len(kept) < 50 else f"`squeeze({dim})`"
            inside = replace(span.end, column=span.end_column - 1)
            place = replace(inside, end_column=inside.column)
            yield Fix("fits", said, (Edit(place, str(dim)),))
