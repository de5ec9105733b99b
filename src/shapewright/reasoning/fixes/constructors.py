"""Changes of a layer's arguments, where it is constructed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import lcm

from shapewright.findings.fix import Edit, Fix
from shapewright.reasoning.causes import NO_SIZES, way
from shapewright.reasoning.construction import arguments_with, constructor
from shapewright.reasoning.explaining import sides
from shapewright.reasoning.fixes.scope import names_for
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure
from shapewright.source.expressions import Text, flat
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


def of_table(program: Program, failure: Failure) -> Iterator[Fix]:
    """A table with a row for every index: the first one beyond it, and a few more."""
    unmet = failure.unmet
    layer = program.layer(program.trace.ops[failure.op])
    if unmet is None or unmet.code != "index-out-of-range" or layer is None:
        return
    if type(unmet.has) is int and type(unmet.needs) is int:
        for more in range(1, 5):
            yield from with_size(program, layer.path, unmet.needs, unmet.has + more, "")


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


def of_shuffle(program: Program, failure: Failure) -> Iterator[Fix]:
    """The layer before a pixel shuffle gives as many channels as that takes apart."""
    unmet = failure.unmet
    if unmet is None or unmet.code != "shuffled-sizes" or unmet.got is None:
        return
    has, needs = unmet.has, unmet.needs
    op = program.trace.ops[failure.op]
    if type(has) is not int or type(needs) is not int or needs < 2:
        return
    for module, size in modules_of(program, op.inputs[0], unmet.got.dim or 1):
        factors = [each for _, each in op.arguments if type(each) is int and each > 1]
        squared = [has * each for each in factors if has % each == 0]
        near = (*squared, needs, lcm(has, needs), -(-has // needs) * needs)
        for new in dict.fromkeys(near):
            if new and size == has:
                yield from with_size(program, module, has, new, "")


def of_share(program: Program, failure: Failure) -> Iterator[Fix]:
    """A layer gives so many times as much as a view takes apart."""
    unmet = failure.unmet
    if unmet is None or unmet.code not in ("element-count-mismatch", "does-not-divide"):
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or not has or not needs:
        return
    fact = program.trace.ops[failure.op].inputs[0]
    for dim in range(len(fact.shape)):
        for module, size in modules_of(program, fact, dim):
            if size * needs % has == 0:
                yield from with_size(program, module, size, size * needs // has, "")


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
    """The layer's constructor with `new` where it has `old`.

    Where a constructor of the program's own hands the size on, its caller's argument
    comes first: that changes this layer alone.
    """
    for name, node, value in arguments_with(program, module):
        if value not in (old, (old,)) or name in NO_SIZES:
            continue
        found = constructor(program, module)
        assert found is not None
        text, call = found
        shown = written or in_words(text, node, old, new)
        here = argument(text, call, name, node, shown)
        named = any(True for _ in names_for(text, node, new))
        if named:
            yield here
        if isinstance(node, ast.Name):
            yield from handed(program, module, text, call, node.id, (old, new))
        if not named:
            yield here


def handed(
    program: Program,
    module: str,
    text: Text,
    call: ast.Call,
    name: str,
    sizes: tuple[int, int],
) -> Iterator[Fix]:
    """The argument of the module around that a name in its constructor stands for."""
    owner = text.around(call, ast.ClassDef)
    path = module.rpartition(".")[0]
    while path and isinstance(owner, ast.ClassDef):
        built = program.built.get(path)
        if built is not None and built.class_name == owner.name:
            found = constructor(program, path)
            for own, node, _ in arguments_with(program, path):
                if own == name and found is not None:
                    outer, around = found
                    shown = in_words(outer, node, *sizes)
                    yield argument(outer, around, own, node, shown)
            return
        path = path.rpartition(".")[0]


def argument(text: Text, call: ast.Call, name: str, node: ast.expr, shown: str) -> Fix:
    """One argument of a call replaced; the message shows the call."""
    span, outer = text.span(node), text.span(call)
    said = f"`{name}={shown}`"
    if span.line == outer.line == outer.end_line:
        whole, left = text.written(call), span.column - outer.column
        whole = whole[:left] + shown + whole[left + len(text.written(node)) :]
        said = f"`{flat(whole)}`"
    return Fix("fits", said, (Edit(span, shown),))


def in_words(text: Text, node: ast.expr, old: int, new: int) -> str:
    """A size as the author might write it: `hidden`, `n_items + 1`, `2 * hidden`."""
    written = text.written(node)
    for name in names_for(text, node, new):
        return name
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        if old > 1 and new % old == 0:
            return f"{new // old} * {written}"
        if new > 1 and old % new == 0:
            return f"{written} // {old // new}"
        if abs(new - old) < 5:
            return f"{written} {'+' if new > old else '-'} {abs(new - old)}"
    return str(new)


def as_product(program: Program, fact: Fact, dim: int) -> str:
    """`16 * 4 * 4` for a size that a flatten put together, else nothing."""
    found = way(program, fact, dim)
    if found.why != "product" or found.op is None:
        return ""
    sizes = [found.op.inputs[at].shape[d] for at, d in found.places]
    return " * ".join(map(str, sizes))
