"""Index maps of joining tensors and of cutting one into several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from shapewright.dims.expression import Expression, number
from shapewright.rules.maps.index_map import (
    IndexMap,
    NotDrawn,
    Read,
    Within,
    index_map,
    out_letters,
)
from shapewright.rules.maps.slicing import known, narrow, select
from shapewright.rules.maps.views import named
from shapewright.rules.meta import Meta

Shape = tuple[int, ...]
Seen = tuple[Shape, tuple[int | None, ...]]
"""The shape as which a tensor is joined, and its own dim for each dim of that."""


def own(tensor: Meta) -> Seen:
    """A tensor as it is."""
    return tuple(tensor.shape), tuple(range(len(tensor.shape)))


def joined(seen: Sequence[Seen], dim: int, sentence: str) -> IndexMap:
    """Tensors one after another along `dim`."""
    shapes = [shape for shape, _ in seen]
    length = sum(shape[dim] for shape in shapes)
    shape = (*shapes[0][:dim], length, *shapes[0][dim + 1 :])
    letters = out_letters(len(shape))
    reads: list[Read] = []
    begin = 0
    for n, (size, dims) in enumerate(seen):
        at: list[Expression] = [number(0)] * sum(one is not None for one in dims)
        for d, one in enumerate(dims):
            if one is not None:
                at[one] = letters[d] - begin if d == dim else letters[d]
        inside = Within(letters[dim], begin, begin + size[dim])
        if size[dim]:
            reads.append(Read(f"tensors.{n}", tuple(at), (inside,)))
        begin += size[dim]
    return IndexMap(shape, tuple(reads), sentence=sentence)


def one_after_another(seen: Sequence[Seen], dim: int) -> IndexMap:
    """`joined`, and the sentence that says it."""
    sizes = " + ".join(str(shape[dim]) for shape, _ in seen)
    words = f"One after another along dim {dim}, which gets {sizes} elements."
    return joined(seen, dim, words)


@index_map("torch.cat", "torch.concat", "torch.concatenate")
def cat(tensors: Sequence[Meta], dim: int = 0) -> Any:
    if not isinstance(dim, int):
        return NotDrawn("its dims are named")
    seen = [own(one) for one in tensors]
    rank = max(len(shape) for shape, _ in seen)
    # An empty tensor of one dim fits everywhere, and gives nothing.
    model = next((s for s, _ in seen if len(s) == rank and s != (0,)), (0,) * rank)
    dim %= rank
    none = (*model[:dim], 0, *model[dim + 1 :])
    seen = [s if len(s[0]) == rank else (none, tuple(range(rank))) for s in seen]
    return one_after_another(seen, dim)


@index_map("torch.stack")
def stack(tensors: Sequence[Meta], dim: int = 0) -> Any:
    rank = len(tensors[0].shape)
    dim %= rank + 1
    seen: list[Seen] = []
    for one in tensors:
        shape, dims = own(one)
        as_one = (*shape[:dim], 1, *shape[dim:])
        seen.append((as_one, (*dims[:dim], None, *dims[dim:])))
    words = f"{len(seen)} tensors of one shape side by side, along a new dim {dim}."
    return joined(seen, dim, words)


def at_least(tensor: Meta, rank: int) -> Seen:
    """`torch.atleast_1d`, `_2d` and `_3d`."""
    shape, dims = own(tensor)
    missing = max(rank - len(shape), 0)
    after = 1 if missing and rank == 3 and shape else 0
    front, back = (None,) * (missing - after), (None,) * after
    return (1,) * len(front) + shape + (1,) * after, (*front, *dims, *back)


@index_map("torch.hstack")
def hstack(tensors: Sequence[Meta]) -> Any:
    seen = [at_least(one, 1) for one in tensors]
    return one_after_another(seen, 0 if len(seen[0][0]) == 1 else 1)


@index_map("torch.vstack", "torch.row_stack")
def vstack(tensors: Sequence[Meta]) -> Any:
    return one_after_another([at_least(one, 2) for one in tensors], 0)


@index_map("torch.dstack")
def dstack(tensors: Sequence[Meta]) -> Any:
    return one_after_another([at_least(one, 3) for one in tensors], 2)


@index_map("torch.column_stack")
def column_stack(tensors: Sequence[Meta]) -> Any:
    seen: list[Seen] = []
    for one in tensors:
        shape, dims = own(one)
        if len(shape) < 2:
            shape, dims = (prod(shape), 1), (*dims, *(None,) * (2 - len(shape)))
        seen.append((shape, dims))
    return one_after_another(seen, 1)


# -- cutting ---------------------------------------------------------------------------


def pieces(input: Meta, dim: int, sizes: Sequence[int]) -> tuple[IndexMap, ...]:
    """One piece after another, of these sizes."""
    found = []
    start = 0
    for n, size in enumerate(sizes):
        made = narrow(input, dim, start, size)
        words = f"Dim {dim} is cut into {len(sizes)}, this is piece {n}: {size} from"
        found.append(replace(made, sentence=f"{words} {start} on, a view."))
        start += size
    return tuple(found)


@index_map(*named("split"), "torch.functional.split", "torch.Tensor.split_with_sizes",
           "torch.split_with_sizes", "torch.unsafe_split", "torch.Tensor.unsafe_split",
           "torch.split_with_sizes_copy")  # fmt: skip
def split(input: Meta, split_size_or_sections: Any, dim: int = 0) -> Any:
    sizes = split_size_or_sections
    dim %= len(input.shape)
    length = input.shape[dim]
    if isinstance(sizes, int):
        starts = range(0, length, sizes) if length else [0]
        sizes = [min(sizes, length - start) for start in starts]
    return pieces(input, dim, sizes)


@index_map(*named("chunk", "unsafe_chunk"))
def chunk(input: Meta, chunks: int, dim: int = 0) -> Any:
    dim %= len(input.shape)
    length = input.shape[dim]
    if not length:
        return pieces(input, dim, [0] * chunks)
    return split(input, -(-length // chunks), dim)


@index_map(*named("tensor_split"))
def tensor_split(input: Meta, indices_or_sections: Any, dim: int = 0) -> Any:
    at = known(indices_or_sections)
    if at is None:
        return NotDrawn("where it is cut is not known")
    dim %= len(input.shape)
    length = input.shape[dim]
    if isinstance(at, int):
        least, more = divmod(length, at)
        return pieces(input, dim, [least + (n < more) for n in range(at)])
    ends = [slice(None, end).indices(length)[1] for end in at]
    found = []
    for n, (start, end) in enumerate(zip([0, *ends], [*ends, length], strict=True)):
        made = narrow(input, dim, start, max(end - start, 0))
        words = f"Dim {dim} is cut at {list(at)}; this is piece {n}, from {start} on."
        found.append(replace(made, sentence=words))
    return tuple(found)


@index_map(*named("hsplit"))
def hsplit(input: Meta, indices_or_sections: Any) -> Any:
    return tensor_split(input, indices_or_sections, int(len(input.shape) > 1))


@index_map(*named("vsplit"))
def vsplit(input: Meta, indices_or_sections: Any) -> Any:
    return tensor_split(input, indices_or_sections, 0)


@index_map(*named("dsplit"))
def dsplit(input: Meta, indices_or_sections: Any) -> Any:
    return tensor_split(input, indices_or_sections, 2)


@index_map(*named("unbind"), "torch.unbind_copy")
def unbind(input: Meta, dim: int = 0) -> Any:
    if not isinstance(dim, int):
        return NotDrawn("its dims are named")
    dim %= len(input.shape)
    return tuple(select(input, dim, n) for n in range(input.shape[dim]))
