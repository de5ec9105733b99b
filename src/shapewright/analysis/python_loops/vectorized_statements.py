"""Statements that do at once what a loop's step does element by element."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.python_loops.element_access import (
    Item,
    base_node,
    broadcast_indices,
    flat,
    gather_dim,
    items_of,
    laid_out,
)
from shapewright.analysis.python_loops.loop_nests import Step, Unread, base_of, loaded
from shapewright.analysis.python_loops.vectorization import (
    ALL,
    Vec,
    Vectoriser,
    call,
    constant,
    indexed,
    method,
)

OPERATORS: dict[str, ast.operator] = {"+": ast.Add(), "-": ast.Sub()}


def writes(reader: Vectoriser, step: Step, fresh: str) -> Iterator[list[ast.stmt]]:
    """What may stand in the loop's place, the best first.

    `fresh` says what the target was before: "zeros" or "made" where the program has
    just made it, "" where it has not.
    """
    if isinstance(step.target, ast.Subscript):
        yield from elements(reader, step, step.target, fresh)
        return
    if step.operator == "append":
        raise Unread
    if step.condition is not None:
        raise Unread
    value = reader.summed(reader.read(step.value), missing(step.letters, ()))
    if value.number or any(axis[0] not in "~" for axis in value.axes):
        raise Unread
    if fresh == "zeros" and step.operator == "+":
        yield [assign(step.target, value.node)]
    yield [augment(step.target, step.operator, value.node)]


def missing(letters: tuple[str, ...], axes: tuple[str, ...]) -> tuple[str, ...]:
    """The letters that a target lacks: they are summed over."""
    return tuple(letter for letter in letters if letter not in axes)


def elements(
    reader: Vectoriser, step: Step, target: ast.Subscript, fresh: str
) -> Iterator[list[ast.stmt]]:
    """`out[i, j] = ...`, `out[index[i], j] += ...`."""
    name, given = flat(target)
    items = items_of(reader, name, given)
    if any(item.value is not None for item in items):
        yield from scattered(reader, step, target, items)
        return
    shape = reader.facts[name].shape
    where, axes = laid_out(reader, items, shape)
    if len(set(axes)) < len(axes):
        raise Unread
    base = base_node(target)
    value = reader.read(step.value)
    over = missing(step.letters, tuple(axes))
    if over and step.operator == "=":
        raise Unread  # a later round replaces an earlier one
    if step.condition is not None:
        other = Vec(ast.Constant(0), number=True)
        if step.operator == "=" and fresh != "zeros":
            other = Vec(indexed(base, where), tuple(axes))
        value = reader.together(
            [reader.read(step.condition), value, other],
            lambda *given: call("torch.where", *given),
        )
    value = reader.summed(value, over)
    node = reader.aligned(value, axes)
    whole = all(item is ALL for item in where)
    complete = not value.number and set(value.axes) == set(axes)
    begins = {"=": ("made", "zeros"), "+": ("zeros",)}.get(step.operator, ())
    if whole and complete and fresh in begins:
        yield [assign(base, node)]
    place = indexed(base, where) if not whole else base
    if step.operator == "=":
        if whole:
            place = ast.Subscript(base, ast.Slice(), ast.Store())
        yield [assign(place, node)]
    else:
        yield [augment(place, step.operator, node)]


def scattered(
    reader: Vectoriser, step: Step, target: ast.Subscript, items: list[Item]
) -> Iterator[list[ast.stmt]]:
    """A write where an index says: `scatter_add_`, `index_add_`, `out[index] = ...`."""
    if step.condition is not None:
        raise Unread
    value = reader.read(step.value)
    base = base_node(target)
    if add_one(step) and len(items) == 1 and plain(reader, items):
        (only,) = (item.value for item in items)
        if only is not None and set(only.axes) == set(step.letters):
            flattened = (
                only.node if len(only.axes) == 1 else method(only.node, "flatten")
            )
            count = call("torch.bincount", flattened)
            size = constant(reader.facts[base_of(step.target)].shape[0])
            count.keywords.append(ast.keyword("minlength", size))
            yield [augment(base, "+", count)]
    if step.operator == "-":
        value = replace(value, node=ast.UnaryOp(ast.USub(), value.node), factors=())
    add = step.operator != "="
    found = gather_dim(items)
    if found is not None and plain(reader, items):
        dim, index = found
        name = "scatter_add_" if add else "scatter_"
        source = value.node
        ok = value.axes == index.axes or (value.number and not add)
        if not ok and not value.number and set(value.axes) <= set(index.axes):
            node = reader.aligned(Vec(value.node, value.axes), index.axes)
            source = method(node, "expand_as", index.node)
            ok = True
        if set(step.letters) == set(index.axes) and ok:
            yield [expression(method(base, name, dim, index.node, source))]
    values = [(d, item.value) for d, item in enumerate(items) if item.value]
    others = [item.letter for item in items if item.letter]
    if len(values) == 1 and plain(reader, items):
        dim, only = values[0]
        assert only is not None
        axes = axes_of(items)
        free = len(only.axes) == 1 and only.axes[0] not in others
        if free and set(step.letters) == {*only.axes, *others}:
            if not value.number and set(value.axes) == set(axes) and add:
                node = reader.aligned(value, axes)
                made = method(base, "index_add_", dim, only.node, node)
                yield [expression(made)]
            if not add:
                where = [i.value.node if i.value else ALL for i in items]
                node = reader.aligned(value, axes)
                yield [assign(indexed(base, where), node)]
    where, met, rest = broadcast_indices(reader, items)
    if set(met) != set(step.letters) or (add and rest):
        return
    node = reader.aligned(value, (*met, *rest))
    if not add:
        yield [assign(indexed(base, where), node)]
        return
    if value.number:
        dtype = ast.Attribute(base, "dtype", ast.Load())
        made = call("torch.tensor", value.node)
        made.keywords.append(ast.keyword("dtype", dtype))
        node = made
    indices = ast.Tuple(where, ast.Load())
    made = method(base, "index_put_", indices, node)
    made.keywords.append(ast.keyword("accumulate", ast.Constant(True)))
    yield [expression(made)]


def add_one(step: Step) -> bool:
    """`count[index[i]] += 1`."""
    value = step.value
    return step.operator == "+" and isinstance(value, ast.Constant) and value.value == 1


def axes_of(items: list[Item]) -> list[str]:
    """The dims of what is written, in the order of the target's."""
    kept = sum(isinstance(i.node, ast.Slice) and not i.letter for i in items)
    axes: list[str] = []
    for item in items:
        if item.value is not None:
            axes += item.value.axes
        elif item.letter:
            axes.append(item.letter)
        elif isinstance(item.node, ast.Slice):
            axes.append(f"~{kept}")
            kept -= 1
    return axes


def plain(reader: Vectoriser, items: list[Item]) -> bool:
    """Whether letters begin at 0 and slices are whole."""
    return all(
        not item.added and reader.ranges[item.letter].start == 0
        if item.letter
        else item.value is not None or item.node is ALL
        for item in items
    )


def stacked(reader: Vectoriser, value: ast.expr, letters: tuple[str, ...]) -> Vec:
    """The elements of a list comprehension, stacked: its letters come first."""
    made = reader.read(value)
    ends = sorted((x for x in made.axes if x[0] == "~"), key=reader.place)
    axes = (*letters, *ends)
    if made.number or set(made.axes) != set(axes):
        raise Unread
    return Vec(reader.aligned(made, axes), axes)


def assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    """`target = value`."""
    return ast.Assign([target], value, lineno=0)


def augment(target: ast.expr, operator: str, value: ast.expr) -> ast.stmt:
    """`target += value`."""
    return ast.AugAssign(target, OPERATORS[operator], value)  # type: ignore[arg-type]


def expression(value: ast.expr) -> ast.stmt:
    """A call that stands alone."""
    return ast.Expr(value)


__all__ = ["base_of", "constant", "loaded", "stacked", "writes"]
