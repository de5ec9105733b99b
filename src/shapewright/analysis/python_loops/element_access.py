"""Elements and rows that a loop reads or writes, for all letters at once.

An index is a letter (with a number added), a number, a slice, or itself a value that is
read: then it is a gather or a scatter.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from shapewright.analysis.python_loops.loop_nests import Unread, dotted, names_read
from shapewright.analysis.python_loops.vectorization import (
    ALL,
    Vec,
    Vectoriser,
    call,
    constant,
    indexed,
    method,
    shifted,
)
from shapewright.record.ops import Fact


@dataclass(frozen=True, slots=True)
class Item:
    """One index: a `letter` with a number added, a `value` that is read, or neither."""

    node: ast.expr
    letter: str = ""
    added: int = 0
    value: Vec | None = None


def flat(node: ast.Subscript) -> tuple[str, list[ast.expr]]:
    """The tensor and all indices of `x[i, j]` or `x[i][j]`."""
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    base = node.value
    if isinstance(base, ast.Subscript):
        name, before = flat(base)
        if any(isinstance(item, ast.Slice) for item in before):
            raise Unread
        return name, [*before, *items]
    name = dotted(base)
    if not name:
        raise Unread
    return name, items


def base_node(node: ast.expr) -> ast.expr:
    """The tensor of `x[i][j]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def items_of(reader: Vectoriser, name: str, given: list[ast.expr]) -> list[Item]:
    """The indices, one for each dim."""
    fact = reader.facts.get(name)
    if fact is None or len(given) > fact.ndim:
        raise Unread
    items = [item_of(reader, node) for node in given]
    return items + [Item(ALL)] * (fact.ndim - len(items))


def item_of(reader: Vectoriser, node: ast.expr) -> Item:
    """What one index is."""
    if isinstance(node, ast.Slice):
        if node.step is not None or names_read(node) & set(reader.ranges):
            raise Unread
        whole = node.lower is None and node.upper is None
        return Item(ALL if whole else node)
    letter, added = dotted(node), 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        right = node.right
        if isinstance(right, ast.Constant) and type(right.value) is int:
            sign = 1 if isinstance(node.op, ast.Add) else -1
            letter, added = dotted(node.left), sign * right.value
    if letter in reader.ranges:
        return Item(node, letter, added)
    if isinstance(node, ast.Constant | ast.UnaryOp):
        if not isinstance(ast.literal_eval(node), int):
            raise Unread
        return Item(node)
    if dotted(node) and dotted(node) not in reader.facts:
        return Item(node)
    value = reader.read(node)
    if value.number or any(axis.startswith("~") for axis in value.axes):
        raise Unread
    return Item(node, value=value)


def span_of(reader: Vectoriser, item: Item, size: int) -> ast.expr:
    """The places that a letter goes through, of a dim of this size."""
    known = reader.ranges[item.letter]
    low, high = known.start + item.added, known.stop + item.added
    if low < 0 or high > size:
        raise Unread
    if (low, high) == (0, size):
        return ALL
    lower = constant(low) if low else None
    upper = shifted(known.end, item.added) if high < size else None
    return ast.Slice(lower, upper)


def picked(reader: Vectoriser, node: ast.Subscript) -> Vec:
    """An element that is read: `x[i, j]`, `x[index[i, j], j]`, `x[:, i]`."""
    name, given = flat(node)
    items, base = items_of(reader, name, given), base_node(node)
    shape = reader.facts[name].shape
    letters = [item.letter for item in items if item.letter]
    if len(set(letters)) < len(letters):
        return diagonal(reader, base, items, shape)
    values = [item for item in items if item.value is not None]
    if not values:
        return sliced(reader, base, items, shape)
    gathered = gather(reader, base, items, reader.facts[name])
    if gathered is not None:
        return gathered
    used = {axis for item in values if item.value for axis in item.value.axes}
    if len(values) == 1 and not used & set(letters):
        return in_place(reader, base, items, shape)
    return everywhere(reader, base, items, shape)


def laid_out(
    reader: Vectoriser, items: list[Item], shape: tuple[int, ...]
) -> tuple[list[ast.expr], list[str]]:
    """What stands in the brackets at once, and the axis that each of it makes."""
    where: list[ast.expr] = []
    axes: list[str] = []
    kept = sum(isinstance(item.node, ast.Slice) and not item.letter for item in items)
    for item, size in zip(items, shape, strict=True):
        if item.letter:
            where.append(span_of(reader, item, size))
            axes.append(item.letter)
        else:
            where.append(item.node)
            if isinstance(item.node, ast.Slice):
                axes.append(f"~{kept}")
                kept -= 1
    return where, axes


def sliced(
    reader: Vectoriser, base: ast.expr, items: list[Item], shape: tuple[int, ...]
) -> Vec:
    """Letters, slices and numbers only."""
    where, axes = laid_out(reader, items, shape)
    return Vec(indexed(base, where), tuple(axes))


def diagonal(
    reader: Vectoriser, base: ast.expr, items: list[Item], shape: tuple[int, ...]
) -> Vec:
    """`x[i, i]`."""
    if len(items) != 2 or items[0].letter != items[1].letter or shape[0] != shape[1]:
        raise Unread
    if any(span_of(reader, item, shape[0]) is not ALL for item in items):
        raise Unread
    return Vec(method(base, "diagonal"), (items[0].letter,))


def gather(
    reader: Vectoriser, base: ast.expr, items: list[Item], fact: Fact
) -> Vec | None:
    """`torch.gather(x, dim, index)`: the other dims are the index's own."""
    found = gather_dim(items)
    if found is None:
        return None
    dim, index = found
    for d, item in enumerate(items):
        if d == dim:
            continue
        known = reader.ranges[item.letter]
        if item.added or known.start or known.stop > fact.shape[d]:
            return None
    node = call("torch.gather", base, constant(dim), index.node)
    return Vec(node, index.axes)


def gather_dim(items: list[Item]) -> tuple[int, Vec] | None:
    """The dim that an index is for, where the others are letters of that index."""
    values = [(d, item.value) for d, item in enumerate(items) if item.value]
    if len(values) != 1:
        return None
    dim, index = values[0]
    assert index is not None
    if len(index.axes) != len(items):
        return None
    for d, item in enumerate(items):
        if d != dim and item.letter != index.axes[d]:
            return None
    if index.axes[dim] in [item.letter for item in items]:
        return None
    return dim, index


def in_place(
    reader: Vectoriser, base: ast.expr, items: list[Item], shape: tuple[int, ...]
) -> Vec:
    """`x[:, index]`: what the index names takes the place of that dim."""
    where: list[ast.expr] = []
    axes: list[str] = []
    kept = sum(isinstance(item.node, ast.Slice) and not item.letter for item in items)
    for item, size in zip(items, shape, strict=True):
        if item.value is not None:
            where.append(item.value.node)
            axes += item.value.axes
        elif item.letter:
            where.append(span_of(reader, item, size))
            axes.append(item.letter)
        elif isinstance(item.node, ast.Slice):
            where.append(item.node)
            axes.append(f"~{kept}")
            kept -= 1
        else:
            raise Unread
    return Vec(indexed(base, where), tuple(axes))


def everywhere(
    reader: Vectoriser, base: ast.expr, items: list[Item], shape: tuple[int, ...]
) -> Vec:
    """`x[torch.arange(n), index]`: every index a tensor, broadcast together."""
    where, axes, rest = broadcast_indices(reader, items)
    return Vec(indexed(base, where), (*axes, *rest))


def broadcast_indices(
    reader: Vectoriser, items: list[Item]
) -> tuple[list[ast.expr], tuple[str, ...], tuple[str, ...]]:
    """Index tensors that meet by their letters; whole rows may only follow them."""
    vecs: list[Vec] = []
    tail: list[ast.expr] = []
    for item in items:
        if isinstance(item.node, ast.Slice) and not item.letter:
            tail.append(item.node)
            continue
        if tail:
            raise Unread
        if item.value is not None:
            vecs.append(item.value)
        elif item.letter:
            counted = reader.counted(item.letter)
            known = reader.ranges[item.letter]
            if item.added and known.start + item.added < 0:
                raise Unread
            node = shifted(counted.node, item.added)
            vecs.append(Vec(node, counted.axes))
        else:
            vecs.append(Vec(item.node, number=True))
    axes = tuple(sorted({a for vec in vecs for a in vec.axes}, key=reader.place))
    nodes = [reader.aligned(vec, axes) for vec in vecs]
    rest = tuple(f"~{len(tail) - n}" for n in range(len(tail)))
    return [*nodes, *tail], axes, rest
