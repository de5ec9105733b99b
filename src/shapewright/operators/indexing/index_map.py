"""Index map of `x[...]`: ints, slices, None, `...`, lists, tensors and masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from shapewright.index_maps.index_map import (
    Element,
    IndexMap,
    Listed,
    NotDrawn,
    Read,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.sizes.expressions import Expression, Letter, as_expression

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IndexedDim:
    """A dim that a list, a tensor or a mask indexes.

    `name` is the tensor's name in the call, or "" for known numbers; `numbers` are
    nested tuples of these; `wraps` is the dim's size if indices may be negative.
    """

    shape: Shape
    name: str = ""
    numbers: tuple[Any, ...] = ()
    wraps: int = 0

    def at(self, letters: Sequence[Expression]) -> Expression:
        """Return the index at the letters that all indexed dims share."""
        own = letters[len(letters) - len(self.shape) :]
        pairs = zip(own, self.shape, strict=True)
        at = tuple(letter if size != 1 else letter * 0 for letter, size in pairs)
        index: Expression = Listed(self.numbers, at)
        if self.name:
            index = Element(self.name, at)
        return index % self.wraps if self.wraps else index


@dataclass(frozen=True, slots=True)
class Cut:
    """A dim of size `size` that a slice keeps: `start + step * letter`."""

    start: int
    step: int
    size: int


class Uncovered(Exception):
    """The reason why an index cannot be drawn."""


Item = int | Cut | IndexedDim | None


@index_map("torch.Tensor.__getitem__")
def getitem(input: Meta, index: Any) -> Any:
    several = isinstance(index, tuple) or (isinstance(index, list) and _mixed(index))
    items = tuple(index) if several else (index,)
    names = [f"index.{n}" for n in range(len(items))] if several else ["index"]
    try:
        return _mapped(resolved(tuple(input.shape), items, names))
    except Uncovered as why:
        return NotDrawn(str(why))


def _mixed(items: list[Any]) -> bool:
    """Return whether torch treats a list as a tuple, as not all items are integers."""
    return len(items) < 32 and not all(isinstance(item, int) for item in items)


def resolved(shape: Shape, items: tuple[Any, ...], names: list[str]) -> list[Item]:
    """Return what indexes each input dim, in order, with None for each new dim."""
    spans = [_spanned(item) for item in items]
    if not any(item is Ellipsis for item in items):
        items, names, spans = (*items, Ellipsis), [*names, ""], [*spans, 0]
    free = len(shape) - sum(spans)
    dims: list[Item] = []
    dim = 0
    for item, name, span in zip(items, names, spans, strict=True):
        if item is Ellipsis:
            dims += [Cut(0, 1, size) for size in shape[dim : dim + free]]
            dim += free
            continue
        dims += _one(item, name, shape[dim : dim + span])
        dim += span
    return dims


def _spanned(item: Any) -> int:
    """Return the number of input dims that an index covers."""
    if item is None or item is Ellipsis:
        return 0
    return len(item.shape) if getattr(item, "dtype", None) == "bool" else 1


def _one(item: Any, name: str, sizes: Shape) -> list[Item]:
    """Resolve one index against the sizes of the dims that it indexes."""
    if item is None:
        return [None]
    if isinstance(item, bool):
        raise Uncovered("it is indexed with True or False")
    if isinstance(item, int):
        return [item % sizes[0]]
    if isinstance(item, slice):
        parts = (item.start, item.stop, item.step)
        if not all(part is None or type(part) is int for part in parts):
            raise Uncovered("a slice has a tensor as its end")
        taken = range(*item.indices(sizes[0]))
        return [Cut(taken.start, taken.step, len(taken))]
    if isinstance(item, list | tuple):
        return [_listed(item, sizes[0])]
    if item.dtype == "bool":
        return _masked(item)
    if item.dtype == "uint8":
        raise Uncovered("it is indexed with a mask of uint8, which is deprecated")
    return [_tensor(item, name, sizes[0])]


def _listed(item: Sequence[Any], size: int) -> IndexedDim:
    """Resolve a list of numbers, or of lists of numbers."""
    shape: list[int] = []
    level: Any = item
    while isinstance(level, list | tuple):
        shape.append(len(level))
        level = level[0] if level else 0
    flat = numbers_in(item)
    if not all(type(value) is int for value in flat):
        raise Uncovered("a list holds more than whole numbers")
    return IndexedDim(tuple(shape), "", _whole_of(item, size))


def numbers_in(item: Any) -> list[Any]:
    """Return the leaves of nested lists."""
    if not isinstance(item, list | tuple):
        return [item]
    return [leaf for inner in item for leaf in numbers_in(inner)]


def _whole_of(item: Any, size: int) -> Any:
    """Return indices as nested tuples, with negative indices counted from the front."""
    if isinstance(item, list | tuple):
        return tuple(_whole_of(inner, size) for inner in item)
    return item % max(size, 1)


def _tensor(item: Any, name: str, size: int) -> Item:
    """Resolve an integer tensor; a 0-dim tensor becomes a plain number."""
    values = getattr(item, "values", None)
    if not item.shape:
        if values is None:
            raise Uncovered("it is indexed with a number that is not known")
        return int(values) % size
    below = values is None or any(value < 0 for value in numbers_in(values))
    return IndexedDim(tuple(item.shape), name, wraps=size if below else 0)


def _masked(item: Any) -> list[Item]:
    """Resolve a mask, which indexes each of its dims by the positions that are True."""
    values = getattr(item, "values", None)
    if values is None or not item.shape:
        raise Uncovered("it is indexed with a mask whose values are not known")
    places = []
    for at in product(*(range(size) for size in item.shape)):
        element = values
        for here in at:
            element = element[here]
        if element:
            places.append(at)
    dims = range(len(item.shape))
    return [IndexedDim((len(places),), "", tuple(at[d] for at in places)) for d in dims]


def _mapped(items: list[Item]) -> IndexMap:
    """Return the map: slices keep their dims, and the indexed dims become one group."""
    left = [item for item in items if not isinstance(item, int)]
    used = [n for n, item in enumerate(left) if isinstance(item, IndexedDim)]
    group = common([item.shape for item in left if isinstance(item, IndexedDim)])
    kept = [n for n, item in enumerate(left) if not isinstance(item, IndexedDim)]
    together = bool(used) and used[-1] - used[0] + 1 == len(used)
    front = [n for n in kept if together and n < used[0]]
    order = [*front, *(n for n in kept if n not in front)]
    letters = list(out_letters(len(kept) + len(group)))
    mine = letters[len(front) : len(front) + len(group)]
    del letters[len(front) : len(front) + len(group)]
    letter_of: dict[int, Letter] = dict(zip(order, letters, strict=True))
    at: list[Expression] = []
    sizes: dict[int, int] = {}
    place = 0
    for item in items:
        if isinstance(item, int):
            at.append(as_expression(item))
            continue
        if isinstance(item, IndexedDim):
            at.append(item.at(mine))
        elif item is None:
            sizes[place] = 1
        else:
            sizes[place] = item.size
            at.append(letter_of[place] * item.step + item.start)
        place += 1
    kept_sizes = [sizes[n] for n in order]
    shape = (*kept_sizes[: len(front)], *group, *kept_sizes[len(front) :])
    words = _told(items, group, len(front) if used else None)
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


def common(shapes: list[Shape]) -> Shape:
    """Return the shape to which the indices broadcast."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    sizes = zip(*padded, strict=True)
    return tuple(max(column, key=lambda size: size != 1) for column in sizes)


def _told(items: list[Item], group: Shape, front: int | None) -> str:
    """Return a sentence that describes the indexing."""
    if front is None:
        more = ""
        if any(isinstance(item, int) for item in items):
            more += " A number takes its dim away."
        if None in items:
            more += " None puts in a dim of size 1."
        return f"Each dim is cut on its own, and the output is a view.{more}"
    of = " x ".join(map(str, group))
    dims = f"dim {front}" if len(group) == 1 else f"{len(group)} dims from {front} on"
    return f"The indices name {of} places together, which become {dims}; it copies."
