"""Vectorise the reading and writing of elements and rows, for all letters at once.

An index is a letter (with a number added), a number, a slice, or itself a value that is
read: then it is a gather or a scatter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.python_loops.loop_nests import (
    NestStatement,
    Unread,
    collect_names_read,
    get_base,
)
from shapewright.analysis.python_loops.vectorization import (
    Vec,
    Vectoriser,
)
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.syntax_nodes import (
    ALL,
    build_call,
    build_index,
    build_method,
    build_name,
    build_number,
    build_shift,
    get_dotted_name,
)
from shapewright.record.ops import Fact


@dataclass(frozen=True, slots=True)
class _Item:
    """An index: a `letter` with a number added, a `value` that is read, or neither."""

    node: ast.expr
    letter: str = ""
    added: int = 0
    value: Vec | None = None


def flatten_index(node: ast.Subscript) -> tuple[str, list[ast.expr]]:
    """Return the tensor and all indices of `x[i, j]` or `x[i][j]`."""
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    base = node.value
    if isinstance(base, ast.Subscript):
        name, before = flatten_index(base)
        if any(isinstance(item, ast.Slice) for item in before):
            raise Unread
        return name, [*before, *items]
    name = get_dotted_name(base)
    if not name:
        raise Unread
    return name, items


def _get_base_node(node: ast.expr) -> ast.expr:
    """Return the node of the tensor `x` in `x[i][j]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _classify_items(
    reader: Vectoriser, name: str, indices: list[ast.expr]
) -> list[_Item]:
    """Return the classified indices, one for every dim of the tensor."""
    fact = reader.facts.get(name)
    if fact is None or len(indices) > fact.ndim:
        raise Unread
    items = [_classify_item(reader, node) for node in indices]
    return items + [_Item(ALL)] * (fact.ndim - len(items))


def _classify_item(reader: Vectoriser, node: ast.expr) -> _Item:
    """Classify an index as a letter, a slice, or a value that is read."""
    if isinstance(node, ast.Slice):
        if node.step is not None or collect_names_read(node) & set(reader.ranges):
            raise Unread
        whole = node.lower is None and node.upper is None
        return _Item(ALL if whole else node)
    letter, added = get_dotted_name(node), 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        right = node.right
        if isinstance(right, ast.Constant) and type(right.value) is int:
            sign = 1 if isinstance(node.op, ast.Add) else -1
            letter, added = get_dotted_name(node.left), sign * right.value
    if letter in reader.ranges:
        return _Item(node, letter, added)
    if isinstance(node, ast.Constant | ast.UnaryOp):
        if evaluate_whole_number(node, SIGNED) is None:
            raise Unread
        return _Item(node)
    if get_dotted_name(node) and get_dotted_name(node) not in reader.facts:
        return _Item(node)
    value = reader.read(node)
    if value.number or any(axis.startswith("~") for axis in value.axes):
        raise Unread
    return _Item(node, value=value)


def _find_slice(reader: Vectoriser, item: _Item, size: int) -> ast.expr:
    """Return the slice of a dim of this size that a letter covers."""
    known = reader.ranges[item.letter]
    low, high = known.start + item.added, known.stop + item.added
    if low < 0 or high > size:
        raise Unread
    if (low, high) == (0, size):
        return ALL
    lower = build_number(low) if low else None
    upper = build_shift(known.end, item.added) if high < size else None
    return ast.Slice(lower, upper)


def vectorise_read(reader: Vectoriser, node: ast.Subscript) -> Vec:
    """Vectorise the reading of an element: `x[i, j]`,
    `x[index[i, j], j]`, `x[:, i]`.
    """
    name, indices = flatten_index(node)
    items, base = _classify_items(reader, name, indices), _get_base_node(node)
    shape = reader.facts[name].shape
    letters = [item.letter for item in items if item.letter]
    if len(set(letters)) < len(letters):
        return _take_diagonal(reader, base, items, shape)
    values = [item for item in items if item.value is not None]
    if not values:
        return _slice_base(reader, base, items, shape)
    gathered = _gather(reader, base, items, reader.facts[name])
    if gathered is not None:
        return gathered
    used = {axis for item in values if item.value for axis in item.value.axes}
    if len(values) == 1 and not used & set(letters):
        return _index_one_dim(reader, base, items, shape)
    return _index_every_dim(reader, base, items, shape)


def _lay_out_items(
    reader: Vectoriser, items: list[_Item], shape: tuple[int, ...]
) -> tuple[list[ast.expr], list[str]]:
    """Return the vectorised items of an index, and the axes that they produce."""
    where: list[ast.expr] = []
    axes: list[str] = []
    kept = sum(isinstance(item.node, ast.Slice) and not item.letter for item in items)
    for item, size in zip(items, shape, strict=True):
        if item.letter:
            where.append(_find_slice(reader, item, size))
            axes.append(item.letter)
        else:
            where.append(item.node)
            if isinstance(item.node, ast.Slice):
                axes.append(f"~{kept}")
                kept -= 1
    return where, axes


def _slice_base(
    reader: Vectoriser, base: ast.expr, items: list[_Item], shape: tuple[int, ...]
) -> Vec:
    """Vectorise an index that consists of letters, slices and numbers only."""
    where, axes = _lay_out_items(reader, items, shape)
    return Vec(build_index(base, where), tuple(axes))


def _take_diagonal(
    reader: Vectoriser, base: ast.expr, items: list[_Item], shape: tuple[int, ...]
) -> Vec:
    """Vectorise `x[i, i]` as a diagonal."""
    if len(items) != 2 or items[0].letter != items[1].letter or shape[0] != shape[1]:
        raise Unread
    if any(_find_slice(reader, item, shape[0]) is not ALL for item in items):
        raise Unread
    return Vec(build_method(base, "diagonal"), (items[0].letter,))


def _gather(
    reader: Vectoriser, base: ast.expr, items: list[_Item], fact: Fact
) -> Vec | None:
    """Build `torch.gather(x, dim, index)`, if all other dims are those of the index."""
    gathered_dim = _gather_dim(items)
    if gathered_dim is None:
        return None
    dim, index = gathered_dim
    for d, item in enumerate(items):
        if d == dim:
            continue
        known = reader.ranges[item.letter]
        if item.added or known.start or known.stop > fact.shape[d]:
            return None
    node = build_call("torch.gather", base, build_number(dim), index.node)
    return Vec(node, index.axes)


def _gather_dim(items: list[_Item]) -> tuple[int, Vec] | None:
    """Return the dim and the index of a gather, if the other dims are letters of that
    index.
    """
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


def _index_one_dim(
    reader: Vectoriser, base: ast.expr, items: list[_Item], shape: tuple[int, ...]
) -> Vec:
    """Build `x[:, index]`, where the dims of the index replace the indexed dim."""
    where: list[ast.expr] = []
    axes: list[str] = []
    kept = sum(isinstance(item.node, ast.Slice) and not item.letter for item in items)
    for item, size in zip(items, shape, strict=True):
        if item.value is not None:
            where.append(item.value.node)
            axes += item.value.axes
        elif item.letter:
            where.append(_find_slice(reader, item, size))
            axes.append(item.letter)
        elif isinstance(item.node, ast.Slice):
            where.append(item.node)
            axes.append(f"~{kept}")
            kept -= 1
        else:
            raise Unread
    return Vec(build_index(base, where), tuple(axes))


def _index_every_dim(
    reader: Vectoriser, base: ast.expr, items: list[_Item], shape: tuple[int, ...]
) -> Vec:
    """Build `x[torch.arange(n), index]`, with index tensors that broadcast together."""
    where, axes, rest = _align_indices(reader, items)
    return Vec(build_index(base, where), (*axes, *rest))


def _align_indices(
    reader: Vectoriser, items: list[_Item]
) -> tuple[list[ast.expr], tuple[str, ...], tuple[str, ...]]:
    """Align index tensors by their letters; whole slices may only follow them."""
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
            node = build_shift(counted.node, item.added)
            vecs.append(Vec(node, counted.axes))
        else:
            vecs.append(Vec(item.node, number=True))
    axes = tuple(sorted({a for vec in vecs for a in vec.axes}, key=reader.place))
    nodes = [reader.aligned(vec, axes) for vec in vecs]
    rest = tuple(f"~{len(tail) - n}" for n in range(len(tail)))
    return [*nodes, *tail], axes, rest


OPERATORS: dict[str, ast.operator] = {"+": ast.Add(), "-": ast.Sub()}


def find_replacements(
    reader: Vectoriser, step: NestStatement, fresh: str
) -> Iterator[list[ast.stmt]]:
    """Return the possible replacements of the loop, the best first.

    `fresh` says what the target was before: "zeros" or "made" where the program has
    just made it, "" where it has not.
    """
    if isinstance(step.target, ast.Subscript):
        yield from _vectorise_elements(reader, step, step.target, fresh)
        return
    if step.operator == "append":
        raise Unread
    if step.condition is not None:
        raise Unread
    value = reader.summed(
        reader.read(step.value), _find_missing_letters(step.letters, ())
    )
    if value.number or any(axis[0] not in "~" for axis in value.axes):
        raise Unread
    if fresh == "zeros" and step.operator == "+":
        yield [assign(step.target, value.node)]
    yield [_augment(step.target, step.operator, value.node)]


def _find_missing_letters(
    letters: tuple[str, ...], axes: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the letters that are missing from a target: these are summed over."""
    return tuple(letter for letter in letters if letter not in axes)


def _vectorise_elements(
    reader: Vectoriser, step: NestStatement, target: ast.Subscript, fresh: str
) -> Iterator[list[ast.stmt]]:
    """Vectorise `out[i, j] = ...` and `out[index[i], j] += ...`."""
    name, indices = flatten_index(target)
    items = _classify_items(reader, name, indices)
    if any(item.value is not None for item in items):
        yield from _vectorise_scatter(reader, step, target, items)
        return
    shape = reader.facts[name].shape
    where, axes = _lay_out_items(reader, items, shape)
    if len(set(axes)) < len(axes):
        raise Unread
    base = _get_base_node(target)
    value = reader.read(step.value)
    over = _find_missing_letters(step.letters, tuple(axes))
    if over and step.operator == "=":
        raise Unread  # a later round replaces an earlier one
    if step.condition is not None:
        other = Vec(ast.Constant(0), number=True)
        if step.operator == "=" and fresh != "zeros":
            other = Vec(build_index(base, where), tuple(axes))
        value = reader.together(
            [reader.read(step.condition), value, other],
            lambda *operands: build_call("torch.where", *operands),
        )
    value = reader.summed(value, over)
    node = reader.aligned(value, axes)
    whole = all(item is ALL for item in where)
    complete = not value.number and set(value.axes) == set(axes)
    begins = {"=": ("made", "zeros"), "+": ("zeros",)}.get(step.operator, ())
    if whole and complete and fresh in begins:
        yield [assign(base, node)]
    place = build_index(base, where) if not whole else base
    if step.operator == "=":
        if whole:
            place = ast.Subscript(base, ast.Slice(), ast.Store())
        yield [assign(place, node)]
    else:
        yield [_augment(place, step.operator, node)]


def _vectorise_scatter(
    reader: Vectoriser, step: NestStatement, target: ast.Subscript, items: list[_Item]
) -> Iterator[list[ast.stmt]]:
    """Vectorise an indexed write: `scatter_add_`, `index_add_`, `out[index] = ...`."""
    if step.condition is not None:
        raise Unread
    value = reader.read(step.value)
    base = _get_base_node(target)
    if _add_one(step) and len(items) == 1 and _is_plain(reader, items):
        (only,) = (item.value for item in items)
        if only is not None and set(only.axes) == set(step.letters):
            flattened = (
                only.node if len(only.axes) == 1 else build_method(only.node, "flatten")
            )
            count = build_call("torch.bincount", flattened)
            size = build_number(reader.facts[get_base(step.target)].shape[0])
            count.keywords.append(ast.keyword("minlength", size))
            yield [_augment(base, "+", count)]
    if step.operator == "-":
        value = replace(value, node=ast.UnaryOp(ast.USub(), value.node), factors=())
    add = step.operator != "="
    gathered_dim = _gather_dim(items)
    if gathered_dim is not None and _is_plain(reader, items):
        dim, index = gathered_dim
        name = "scatter_add_" if add else "scatter_"
        source = value.node
        ok = value.axes == index.axes or (value.number and not add)
        if not ok and not value.number and set(value.axes) <= set(index.axes):
            node = reader.aligned(Vec(value.node, value.axes), index.axes)
            source = build_method(node, "expand_as", index.node)
            ok = True
        if set(step.letters) == set(index.axes) and ok:
            yield [_build_expression(build_method(base, name, dim, index.node, source))]
    values = [(d, item.value) for d, item in enumerate(items) if item.value]
    others = [item.letter for item in items if item.letter]
    if len(values) == 1 and _is_plain(reader, items):
        dim, only = values[0]
        assert only is not None
        axes = _get_axes(items)
        free = len(only.axes) == 1 and only.axes[0] not in others
        if free and set(step.letters) == {*only.axes, *others}:
            if not value.number and set(value.axes) == set(axes) and add:
                node = reader.aligned(value, axes)
                call = build_method(base, "index_add_", dim, only.node, node)
                yield [_build_expression(call)]
            if not add:
                where = [i.value.node if i.value else ALL for i in items]
                node = reader.aligned(value, axes)
                yield [assign(build_index(base, where), node)]
    where, met, rest = _align_indices(reader, items)
    if set(met) != set(step.letters) or (add and rest):
        return
    node = reader.aligned(value, (*met, *rest))
    if not add:
        yield [assign(build_index(base, where), node)]
        return
    if value.number:
        dtype = ast.Attribute(base, "dtype", ast.Load())
        call = build_call("torch.tensor", value.node)
        call.keywords.append(ast.keyword("dtype", dtype))
        node = call
    indices = ast.Tuple(where, ast.Load())
    call = build_method(base, "index_put_", indices, node)
    call.keywords.append(ast.keyword("accumulate", ast.Constant(True)))
    yield [_build_expression(call)]


def _add_one(step: NestStatement) -> bool:
    """Return whether a step is `count[index[i]] += 1`."""
    value = step.value
    return step.operator == "+" and isinstance(value, ast.Constant) and value.value == 1


def _get_axes(items: list[_Item]) -> list[str]:
    """Return the axes of a written element, in the order of the target's dims."""
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


def _is_plain(reader: Vectoriser, items: list[_Item]) -> bool:
    """Return whether all letters begin at 0 and all slices are whole."""
    return all(
        not item.added and reader.ranges[item.letter].start == 0
        if item.letter
        else item.value is not None or item.node is ALL
        for item in items
    )


def stack_elements(
    reader: Vectoriser, value: ast.expr, letters: tuple[str, ...]
) -> Vec:
    """Stack the elements of a list comprehension, with its letters as
    the first dims.
    """
    element = reader.read(value)
    ends = sorted((x for x in element.axes if x[0] == "~"), key=reader.place)
    axes = (*letters, *ends)
    if element.number or set(element.axes) != set(axes):
        raise Unread
    return Vec(reader.aligned(element, axes), axes)


def assign(target: ast.expr, value: ast.expr) -> ast.stmt:
    """Build the statement `target = value`."""
    return ast.Assign([target], value, lineno=0)


def _augment(target: ast.expr, operator: str, value: ast.expr) -> ast.stmt:
    """Build the statement `target += value`, or its counterpart for another
    operator.
    """
    return ast.AugAssign(target, OPERATORS[operator], value)  # type: ignore[arg-type]


def _build_expression(value: ast.expr) -> ast.stmt:
    """Build a statement that consists of a single expression."""
    return ast.Expr(value)


__all__ = [
    "build_name", "build_number", "find_replacements", "get_base", "stack_elements",
]  # fmt: skip
