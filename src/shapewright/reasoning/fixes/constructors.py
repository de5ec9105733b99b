"""Changes of a layer's arguments, where it is constructed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.causes import NO_SIZES, way
from shapewright.reasoning.construction import arguments_with, constructor
from shapewright.reasoning.explaining import sides
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.trace.fact import Fact


def of_consumer(program: Program, failure: Failure) -> Iterator[Fix]:
    """The layer that refuses its input gets the size that comes."""
    wanted, got = sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    at, dim = wanted
    for module, found in modules_of(program, op.inputs[at], dim):
        size = has if found == needs else None
        if size is not None:
            written = as_product(program, op.inputs[got[0]], got[1])
            yield from with_size(program, module, needs, size, written)


def of_layer(program: Program, failure: Failure) -> Iterator[Fix]:
    """A layer that refuses its input, by the argument that is the size it asks for."""
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    if layer is None or layer.path not in program.built:
        return
    for has, needs in pairs_of(program, failure):
        written = ""
        got = sides(failure)[1]
        if got is not None and op.inputs[got[0]].shape[got[1]] == has:
            written = as_product(program, op.inputs[got[0]], got[1])
        yield from with_size(program, layer.path, needs, has, written)


def pairs_of(program: Program, failure: Failure) -> list[tuple[int, int]]:
    """What came and what was asked for, as numbers, the surest first."""
    op = program.trace.ops[failure.op]
    pairs: list[tuple[int, int]] = []
    unmet = failure.unmet
    if unmet is not None and type(unmet.has) is int and type(unmet.needs) is int:
        pairs.append((unmet.has, unmet.needs))
    wanted, got = sides(failure)
    if wanted is not None and got is not None:
        needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
        pairs.append((has, needs))
    for repair in failure.repairs:
        if repair.kind == "size" and isinstance(repair.old, int):
            pairs.append((repair.old, repair.new))
    return list(dict.fromkeys(pairs))


def of_producer(program: Program, failure: Failure) -> Iterator[Fix]:
    """The layer that decided what comes gives what is asked for."""
    wanted, got = sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    at, dim = got
    for module, found in modules_of(program, op.inputs[at], dim):
        if found == has:
            yield from with_size(program, module, has, needs, "")


def modules_of(program: Program, fact: Fact, dim: int) -> Iterator[tuple[str, int]]:
    """The layers whose parameters decided a size, and that size there."""
    found = way(program, fact, dim)
    if found.why != "parameter":
        return
    path = program.states.get(found.fact.tensor)
    if path is not None:
        yield path.rpartition(".")[0], found.fact.shape[found.dim]


def with_size(
    program: Program, module: str, old: int, new: int, written: str
) -> Iterator[Fix]:
    """The layer's constructor with `new` where it has `old`."""
    found = constructor(program, module)
    if found is None:
        return
    text, call = found
    for name, node, value in arguments_with(program, module):
        if value not in (old, (old,)) or name in NO_SIZES:
            continue
        shown = written or in_words(text.written(node), node, old, new)
        if isinstance(node, ast.Constant | ast.BinOp | ast.Name | ast.Attribute):
            span, outer = text.span(node), text.span(call)
            whole = text.written(call)
            start, end = text.written(node), shown
            one_line = span.line == outer.line == span.end_line
            if one_line:
                left = span.column - outer.column
                whole = whole[:left] + end + whole[left + len(start) :]
            said = f"`{' '.join(whole.split())}`" if one_line else f"`{name}={shown}`"
            yield Fix("fits", said, (Edit(span, shown),))


def in_words(written: str, node: ast.expr, old: int, new: int) -> str:
    """A size as the author might write it: `n_items + 1`, `2 * hidden`."""
    if isinstance(node, ast.Name | ast.Attribute):
        if abs(new - old) == 1:
            return f"{written} {'+' if new > old else '-'} 1"
        if old > 1 and new % old == 0:
            return f"{new // old} * {written}"
        if new > 1 and old % new == 0:
            return f"{written} // {old // new}"
    return str(new)


def as_product(program: Program, fact: Fact, dim: int) -> str:
    """`16 * 4 * 4` for a size that a flatten put together, else nothing."""
    found = way(program, fact, dim)
    if found.why != "product" or found.op is None:
        return ""
    sizes = [found.op.inputs[at].shape[d] for at, d in found.places]
    return " * ".join(map(str, sizes))
