"""Index maps of windows of a tensor: select, narrow, diagonal, unfold, as_strided."""

from __future__ import annotations

from typing import Any

from shapewright.dims.expression import Expression, number, total
from shapewright.rules.maps.index_map import (
    IndexMap,
    NotDrawn,
    Read,
    index_map,
    out_letters,
)
from shapewright.rules.maps.places import modulo, over, sizes_of
from shapewright.rules.maps.views import named
from shapewright.rules.meta import Meta


def known(value: Any) -> Any:
    """A number that may come as a tensor; None where its value is not known."""
    return getattr(value, "values", None) if hasattr(value, "shape") else value


@index_map(*named("select"), "torch.select_copy")
def select(input: Meta, dim: int, index: Any) -> Any:
    rank, at = len(input.shape), known(index)
    if not isinstance(dim, int) or not isinstance(at, int):
        return NotDrawn("its dim is named or its index is a tensor of many values")
    dim %= rank
    at %= input.shape[dim]
    letters = out_letters(rank - 1)
    shape = (*input.shape[:dim], *input.shape[dim + 1 :])
    indices = (*letters[:dim], number(at), *letters[dim:])
    words = f"The slice at {at} of dim {dim}, which is gone from the output."
    return IndexMap(shape, (Read("input", indices),), sentence=words)


@index_map(*named("narrow", "narrow_copy"))
def narrow(input: Meta, dim: int, start: Any, length: int) -> Any:
    first = known(start)
    if not isinstance(first, int):
        return NotDrawn("its start is a tensor of many values")
    rank = len(input.shape)
    dim %= rank
    first = first + input.shape[dim] if first < 0 else first
    at: list[Expression] = list(out_letters(rank))
    at[dim] = at[dim] + first
    shape = (*input.shape[:dim], length, *input.shape[dim + 1 :])
    words = f"{length} elements of dim {dim}, from {first} on."
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)


@index_map(*named("diagonal"), "torch.diagonal_copy")
def diagonal(input: Meta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    rank = len(input.shape)
    if not isinstance(dim1, int):
        return NotDrawn("its dims are named")
    dim1, dim2 = dim1 % rank, dim2 % rank
    *others, along = out_letters(rank - 1)
    down, right = max(-offset, 0), max(offset, 0)
    rest = iter(others)
    at = tuple(
        along + down if d == dim1 else along + right if d == dim2 else next(rest)
        for d in range(rank)
    )
    length = max(min(input.shape[dim1] - down, input.shape[dim2] - right), 0)
    kept = [size for d, size in enumerate(input.shape) if d not in (dim1, dim2)]
    words = f"The diagonal of dims {dim1} and {dim2}, {length} long, as the last dim."
    return IndexMap((*kept, length), (Read("input", at),), sentence=words)


@index_map("torch.linalg.diagonal")
def matrix_diagonal(A: Meta, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    made = diagonal(A, offset, dim1, dim2)
    if isinstance(made, NotDrawn):
        return made
    reads = (Read("A", made.reads[0].indices),)
    return IndexMap(made.shape, reads, sentence=made.sentence)


@index_map("torch.Tensor.unfold", "torch.unfold_copy")
def unfold(input: Meta, dimension: int, size: int, step: int) -> Any:
    rank = len(input.shape)
    words = f"Windows of {size}, each {step} on from the last, as a new last dim."
    if not rank:
        return IndexMap((size,), (Read("input", ()),), sentence=words)
    dim = dimension % rank
    *at, inside = out_letters(rank + 1)
    windows = (input.shape[dim] - size) // step + 1
    shape = (*input.shape[:dim], windows, *input.shape[dim + 1 :], size)
    indices: list[Expression] = list(at)
    indices[dim] = at[dim] * step + inside
    return IndexMap(shape, (Read("input", tuple(indices)),), sentence=words)


@index_map(*named("as_strided", in_place=True), "torch.as_strided_copy")
def as_strided(
    input: Meta, size: Any, stride: Any, storage_offset: int | None = None
) -> Any:
    shape, stride = tuple(size), tuple(stride)
    offset = getattr(input, "offset", 0)
    start = 0 if storage_offset is None else storage_offset - offset
    letters = out_letters(len(shape))
    cell = total([*zip(letters, stride, strict=True), (start, 1)])
    sizes = sizes_of(shape)
    last = start + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    order = [d for d, n in enumerate(input.shape) if n != 1]
    order.sort(key=lambda dim: input.stride[dim])
    dense = 1
    for dim in order:
        if input.stride[dim] != dense:
            return NotDrawn("the input does not fill the storage that it looks at")
        dense *= input.shape[dim]
    if 0 not in shape and (start < 0 or last >= dense):
        return NotDrawn("it reaches beyond the input's elements, into its storage")
    at: list[Expression] = [number(0)] * len(input.shape)
    for dim in order:
        count = max(input.shape[dim], 1)
        at[dim] = modulo(over(cell, max(input.stride[dim], 1), sizes), count, sizes)
    begin = start + offset
    words = f"Cell {begin} of the storage, then on by the strides {stride}."
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=words)
