"""Index maps of joining, splitting, repeating, rolling and flipping tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    index_at,
    list_sizes,
    modulo,
    over,
    place,
)
from shapewright.index_maps.index_map import (
    IndexMap,
    Listed,
    NotDrawn,
    Read,
    Within,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.view_operators.index_map import (
    known,
    list_forms,
    narrow,
    select,
    shown,
)
from shapewright.sizes.expressions import Expression, number

Shape = tuple[int, ...]
Seen = tuple[Shape, tuple[int | None, ...]]
"""The shape in which a tensor is joined, and for each of its dims the tensor's dim."""


def _own(tensor: Meta) -> Seen:
    """Return the shape and dims of a tensor."""
    return tuple(tensor.shape), tuple(range(len(tensor.shape)))


def _joined(seen: Sequence[Seen], dim: int, sentence: str) -> IndexMap:
    """Return the map of tensors concatenated along `dim`."""
    shapes = [shape for shape, _ in seen]
    length = sum(shape[dim] for shape in shapes)
    shape = (*shapes[0][:dim], length, *shapes[0][dim + 1 :])
    letters = out_letters(len(shape))
    reads: list[Read] = []
    begin = 0
    for n, (size, dims) in enumerate(seen):
        at: list[Expression] = [number(0)] * sum(
            source_dim is not None for source_dim in dims
        )
        for d, source_dim in enumerate(dims):
            if source_dim is not None:
                at[source_dim] = letters[d] - begin if d == dim else letters[d]
        inside = Within(letters[dim], begin, begin + size[dim])
        if size[dim]:
            reads.append(Read(f"tensors.{n}", tuple(at), (inside,)))
        begin += size[dim]
    return IndexMap(shape, tuple(reads), sentence=sentence)


def _one_after_another(seen: Sequence[Seen], dim: int) -> IndexMap:
    """Return the map of `_joined` with a sentence that describes it."""
    sizes = " + ".join(str(shape[dim]) for shape, _ in seen)
    words = f"One after another along dim {dim}, which then has {sizes} elements."
    return _joined(seen, dim, words)


@index_map("torch.cat", "torch.concat", "torch.concatenate")
def cat(tensors: Sequence[Meta], dim: int = 0) -> Any:
    if not isinstance(dim, int):
        return NotDrawn("its dims are named")
    seen = [_own(tensor) for tensor in tensors]
    rank = max(len(shape) for shape, _ in seen)
    # An empty tensor of one dim fits everywhere, and gives nothing.
    model = next((s for s, _ in seen if len(s) == rank and s != (0,)), (0,) * rank)
    dim %= rank
    none = (*model[:dim], 0, *model[dim + 1 :])
    seen = [s if len(s[0]) == rank else (none, tuple(range(rank))) for s in seen]
    return _one_after_another(seen, dim)


@index_map("torch.stack")
def stack(tensors: Sequence[Meta], dim: int = 0) -> Any:
    rank = len(tensors[0].shape)
    dim %= rank + 1
    seen: list[Seen] = []
    for tensor in tensors:
        shape, dims = _own(tensor)
        as_one = (*shape[:dim], 1, *shape[dim:])
        seen.append((as_one, (*dims[:dim], None, *dims[dim:])))
    words = f"{len(seen)} tensors of one shape side by side, along a new dim {dim}."
    return _joined(seen, dim, words)


def _at_least(tensor: Meta, rank: int) -> Seen:
    """Return the shape and dims that `torch.atleast_1d`, `_2d` or `_3d` produces."""
    shape, dims = _own(tensor)
    missing = max(rank - len(shape), 0)
    after = 1 if missing and rank == 3 and shape else 0
    front, back = (None,) * (missing - after), (None,) * after
    return (1,) * len(front) + shape + (1,) * after, (*front, *dims, *back)


@index_map("torch.hstack")
def hstack(tensors: Sequence[Meta]) -> Any:
    seen = [_at_least(tensor, 1) for tensor in tensors]
    return _one_after_another(seen, 0 if len(seen[0][0]) == 1 else 1)


@index_map("torch.vstack", "torch.row_stack")
def vstack(tensors: Sequence[Meta]) -> Any:
    return _one_after_another([_at_least(tensor, 2) for tensor in tensors], 0)


@index_map("torch.dstack")
def dstack(tensors: Sequence[Meta]) -> Any:
    return _one_after_another([_at_least(tensor, 3) for tensor in tensors], 2)


@index_map("torch.column_stack")
def column_stack(tensors: Sequence[Meta]) -> Any:
    seen: list[Seen] = []
    for tensor in tensors:
        shape, dims = _own(tensor)
        if len(shape) < 2:
            shape, dims = (prod(shape), 1), (*dims, *(None,) * (2 - len(shape)))
        seen.append((shape, dims))
    return _one_after_another(seen, 1)


# -- cutting ---------------------------------------------------------------------------


def _pieces(input: Meta, dim: int, sizes: Sequence[int]) -> tuple[IndexMap, ...]:
    """Return the maps of consecutive pieces of the given sizes."""
    maps = []
    start = 0
    for n, size in enumerate(sizes):
        piece = narrow(input, dim, start, size)
        words = f"Dim {dim} is cut into {len(sizes)}, this is piece {n}: {size} from"
        maps.append(replace(piece, sentence=f"{words} {start} on, a view."))
        start += size
    return tuple(maps)


@index_map(*list_forms("split"), "torch.functional.split",
           "torch.Tensor.split_with_sizes", "torch.split_with_sizes",
           "torch.unsafe_split", "torch.Tensor.unsafe_split",
           "torch.split_with_sizes_copy")  # fmt: skip
def split(input: Meta, split_size_or_sections: Any, dim: int = 0) -> Any:
    sizes = split_size_or_sections
    dim %= len(input.shape)
    length = input.shape[dim]
    if isinstance(sizes, int):
        starts = range(0, length, sizes) if length else [0]
        sizes = [min(sizes, length - start) for start in starts]
    return _pieces(input, dim, sizes)


@index_map(*list_forms("chunk", "unsafe_chunk"))
def chunk(input: Meta, chunks: int, dim: int = 0) -> Any:
    dim %= len(input.shape)
    length = input.shape[dim]
    if not length:
        return _pieces(input, dim, [0] * chunks)
    return split(input, -(-length // chunks), dim)


@index_map(*list_forms("tensor_split"))
def tensor_split(input: Meta, indices_or_sections: Any, dim: int = 0) -> Any:
    at = known(indices_or_sections)
    if at is None:
        return NotDrawn("where it is cut is not known")
    dim %= len(input.shape)
    length = input.shape[dim]
    if isinstance(at, int):
        least, more = divmod(length, at)
        return _pieces(input, dim, [least + (n < more) for n in range(at)])
    ends = [slice(None, end).indices(length)[1] for end in at]
    maps = []
    for n, (start, end) in enumerate(zip([0, *ends], [*ends, length], strict=True)):
        piece = narrow(input, dim, start, max(end - start, 0))
        words = f"Dim {dim} is cut at {list(at)}; this is piece {n}, from {start} on."
        maps.append(replace(piece, sentence=words))
    return tuple(maps)


@index_map(*list_forms("hsplit"))
def hsplit(input: Meta, indices_or_sections: Any) -> Any:
    return tensor_split(input, indices_or_sections, int(len(input.shape) > 1))


@index_map(*list_forms("vsplit"))
def vsplit(input: Meta, indices_or_sections: Any) -> Any:
    return tensor_split(input, indices_or_sections, 0)


@index_map(*list_forms("dsplit"))
def dsplit(input: Meta, indices_or_sections: Any) -> Any:
    return tensor_split(input, indices_or_sections, 2)


@index_map(*list_forms("unbind"), "torch.unbind_copy")
def unbind(input: Meta, dim: int = 0) -> Any:
    if not isinstance(dim, int):
        return NotDrawn("its dims are named")
    dim %= len(input.shape)
    return tuple(select(input, dim, n) for n in range(input.shape[dim]))


@index_map("torch.Tensor.repeat")
def repeat(input: Meta, *repeats: Any, sizes: Any = None) -> Any:
    times = tuple(repeats if sizes is None else sizes)
    rank = len(input.shape)
    whole = (1,) * (len(times) - rank) + tuple(input.shape)
    shape = tuple(n * size for n, size in zip(times, whole, strict=True))
    letters = out_letters(len(shape))
    pairs = zip(letters[len(times) - rank :], input.shape, strict=True)
    limits = list_sizes(shape)
    at = tuple(modulo(letter, max(size, 1), limits) for letter, size in pairs)
    words = f"The whole tensor, {shown(times)} times along the dims, copied: 0 1 0 1."
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map("torch.tile")
def tile(input: Meta, dims: Sequence[int]) -> Any:
    return repeat(input, *(1,) * (len(input.shape) - len(dims)), *dims)


@index_map("torch.Tensor.tile")
def tile_method(input: Meta, *repeats: Any, dims: Any = None) -> Any:
    return tile(input, tuple(repeats if dims is None else dims))


@index_map(*list_forms("repeat_interleave"))
def repeat_interleave(
    input: Meta, repeats: Any = None, dim: int | None = None, *, output_size: Any = None
) -> Any:
    times = known(repeats)
    if times is None:
        return NotDrawn("how often each element is repeated is not known")
    whole = tuple(input.shape)
    flat = (prod(whole),) if dim is None else whole
    dim = 0 if dim is None else dim % max(len(whole), 1)
    flat = flat or (1,)
    if isinstance(times, list) and len(times) == 1:
        times = times[0]
    letters = list(out_letters(len(flat)))
    here: Expression
    if isinstance(times, int):
        length = flat[dim] * times
        sizes = list_sizes((*flat[:dim], length, *flat[dim + 1 :]))
        here = over(letters[dim], max(times, 1), sizes)
        words = f"Each element {times} times in a row along dim {dim}: 0 0 1 1."
    else:
        order = tuple(n for n, count in enumerate(times) for _ in range(count))
        length = len(order)
        sizes = {}
        here = Listed(order, (letters[dim],))
        words = f"Along dim {dim}, element n comes `repeats[n]` times in a row."
    shape = (*flat[:dim], length, *flat[dim + 1 :])
    at: tuple[Expression, ...] = (*letters[:dim], here, *letters[dim + 1 :])
    if flat != whole:
        at = index_at(here, whole, sizes)
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map(*list_forms("roll"))
def roll(input: Meta, shifts: Any, dims: Any = None) -> Any:
    shape = tuple(input.shape)
    by = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    along = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    letters = out_letters(len(shape))
    sizes = list_sizes(shape)
    if not along:
        count = max(prod(shape), 1)
        cell = modulo(place(letters, shape) - by[0], count, sizes)
        words = f"All elements in row-major order, {by[0]} further, and around the end."
        return IndexMap(
            shape, (Read("input", index_at(cell, shape, sizes)),), sentence=words
        )
    at: list[Expression] = list(letters)
    total = dict.fromkeys((dim % max(len(shape), 1) for dim in along), 0)
    for shift, dim in zip(by, along, strict=True):
        total[dim % max(len(shape), 1)] += shift
    for dim, shift in total.items():
        if shape and shape[dim]:
            short = abs(shift) % shape[dim] * (1 if shift > 0 else -1)
            at[dim] = (at[dim] - short) % shape[dim] if short else at[dim]
    words = f"Along dims {shown(tuple(total))} by {shown(tuple(total.values()))}: "
    words += "what falls off the end comes in at the front."
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


@index_map(*list_forms("flip"))
def flip(input: Meta, *order: Any, dims: Any = None) -> Any:
    dims_flipped = order if dims is None else (dims,) if isinstance(dims, int) else dims
    return _flipped(input, {dim % max(len(input.shape), 1) for dim in dims_flipped})


@index_map(*list_forms("fliplr"))
def fliplr(input: Meta) -> Any:
    return _flipped(input, {1})


@index_map(*list_forms("flipud"))
def flipud(input: Meta) -> Any:
    return _flipped(input, {0})


def _flipped(input: Meta, dims: set[int]) -> IndexMap:
    """Return the map that reverses the given dims."""
    shape = tuple(input.shape)
    letters = out_letters(len(shape))
    at = tuple(
        size - 1 - letter if dim in dims else letter
        for dim, (letter, size) in enumerate(zip(letters, shape, strict=True))
    )
    words = f"Backwards along dims {shown(sorted(dims))}; the elements are copied."
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map(*list_forms("rot90"))
def rot90(input: Meta, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    shape = list(input.shape)
    down, right = (dim % len(shape) for dim in dims)
    at: list[Expression] = list(out_letters(len(shape)))
    high, wide = shape[down], shape[right]
    i, j = at[down], at[right]
    if k % 4 == 1:
        at[down], at[right] = j, wide - 1 - i
    elif k % 4 == 2:
        at[down], at[right] = high - 1 - i, wide - 1 - j
    elif k % 4 == 3:
        at[down], at[right] = high - 1 - j, i
    if k % 2:
        shape[down], shape[right] = wide, high
    words = f"Turned {k % 4} times by 90 degrees, from dim {down} towards dim {right}."
    return IndexMap(tuple(shape), (Read("input", tuple(at)),), sentence=words)
