"""Index maps of views: the same elements under other indices."""

from __future__ import annotations

from collections.abc import Sequence
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
    NotDrawn,
    Read,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.sizes.expressions import Expression, number, total
from shapewright.sizes.strides import compute_viewed

FLAT = "The elements stay in row-major order; only where the dims are cut changes"


def list_forms(*names: str, in_place: bool = False) -> list[str]:
    """Return the function and method of each name, and optionally `method_`."""
    kinds = ["torch.{}", "torch.Tensor.{}"] + ["torch.Tensor.{}_"] * in_place
    return [kind.format(name) for name in names for kind in kinds]


def _whole(dim: int, rank: int) -> int:
    """Return a dim counted from the front."""
    return dim % max(rank, 1)


def shown(shape: Sequence[int]) -> str:
    """Format a shape as a tuple."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _reordered(input: Meta, order: Sequence[int], sentence: str) -> IndexMap:
    """Map dim d of the output to dim `order[d]` of the input."""
    at: list[Expression] = [number(0)] * len(order)
    for letter, dim in zip(out_letters(len(order)), order, strict=True):
        at[dim] = letter
    shape = tuple(input.shape[dim] for dim in order)
    return IndexMap(shape, (Read("input", tuple(at)),), sentence=sentence)


def _same_place(input: Meta, shape: Sequence[int], sentence: str = "") -> IndexMap:
    """Map a reshape, which keeps the row-major position of each element."""
    shape, have = tuple(shape), tuple(input.shape)
    letters = out_letters(len(shape))
    least = min(len(shape), len(have))
    front = 0
    while front < least and shape[front] == have[front]:
        front += 1
    back = 0
    while back < least - front and shape[-1 - back] == have[-1 - back]:
        back += 1
    inner, cut = slice(front, len(shape) - back), slice(front, len(have) - back)
    flat = place(letters[inner], shape[inner])
    middle = index_at(flat, have[cut], list_sizes(shape))
    at = (*letters[:front], *middle, *letters[len(shape) - back :])
    words = sentence or f"{FLAT}, from {shown(have)} to {shown(shape)}."
    if compute_viewed(have, tuple(input.stride), shape) is None:
        words += (
            f" It copies: the input lies in storage with strides {shown(input.stride)},"
            " and no strides go through it in that order."
        )
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map("torch.Tensor.view", "torch.Tensor.reshape")
def view(input: Meta, *sizes: Any, size: Any = None, shape: Any = None) -> Any:
    return reshape(input, size or shape or sizes)


@index_map("torch.reshape", "torch.view_copy")
def reshape(input: Meta, shape: Any) -> Any:
    if isinstance(shape, str) or not all(isinstance(n, int) for n in shape):
        return NotDrawn("it reads the bits of the elements as another dtype")
    rest = prod(size for size in shape if size != -1)
    missing = prod(input.shape) // rest if rest else 0
    return _same_place(input, [missing if size == -1 else size for size in shape])


@index_map("torch.Tensor.view_as", "torch.Tensor.reshape_as")
def view_as(input: Meta, other: Meta) -> Any:
    return _same_place(input, other.shape)


@index_map(*list_forms("ravel"))
def ravel(input: Meta) -> Any:
    return _same_place(input, (prod(input.shape),))


@index_map(*list_forms("flatten"))
def flatten(input: Meta, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = tuple(input.shape)
    if not all(isinstance(dim, int) for dim in (start_dim, end_dim)):
        return NotDrawn("its dims are named")
    first, last = _whole(start_dim, len(shape)), _whole(end_dim, len(shape))
    output_shape = (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])
    words = f"Dims {first} to {last} become one of {output_shape[first]}, in "
    words += "row-major order."
    return _same_place(input, output_shape, words)


@index_map(*list_forms("unflatten"))
def unflatten(input: Meta, dim: int, sizes: Any) -> Any:
    if not isinstance(dim, int):
        return NotDrawn("its dims are named")
    shape, sizes = tuple(input.shape), tuple(sizes)
    dim %= len(shape)
    rest = abs(prod(sizes))
    cut = tuple(shape[dim] // (rest or 1) if size == -1 else size for size in sizes)
    words = f"Dim {dim}, of {shape[dim]}, is cut into {shown(cut)}, in row-major order."
    return _same_place(input, (*shape[:dim], *cut, *shape[dim + 1 :]), words)


@index_map(
    *list_forms("clone", "detach", "positive"),
    "torch.Tensor.contiguous", "torch.Tensor.detach_", "torch.detach_copy",
    "torch.alias_copy", "torch.Tensor.requires_grad_",
)  # fmt: skip
def same(input: Meta, *rest: Any, **more: Any) -> Any:
    words = "Every element as it is; only where it is stored may change."
    return _reordered(input, range(len(input.shape)), words)


CONVERTING = ("float", "double", "half", "bfloat16", "long", "int", "short", "char",
              "byte", "bool", "cpu", "type", "type_as", "to")  # fmt: skip


@index_map(*(f"torch.Tensor.{name}" for name in CONVERTING))
def converted(input: Meta, *asked: Any, **more: Any) -> Any:
    words = "Every element by its own place, converted; nothing is copied where it is "
    words += "what was requested already."
    return _reordered(input, range(len(input.shape)), words)


# -- the order of the dims -------------------------------------------------------------


@index_map(*list_forms("transpose", "swapaxes", "swapdims", in_place=True),
           "torch.transpose_copy")  # fmt: skip
def transpose(input: Meta, dim0: int, dim1: int) -> Any:
    rank = len(input.shape)
    if not isinstance(dim0, int):
        return NotDrawn("its dims are named")
    first, second = sorted((_whole(dim0, rank), _whole(dim1, rank)))
    order = list(range(rank))
    if rank:
        order[first], order[second] = second, first
    words = f"Dims {first} and {second} change places; nothing moves in memory."
    return _reordered(input, order, words)


@index_map(*list_forms("permute"), "torch.permute_copy")
def permute(input: Meta, *order: Any, dims: Any = None) -> Any:
    if dims is not None:
        order = dims
    order = tuple(_whole(dim, len(input.shape)) for dim in order)
    words = f"The output's dims are the input's dims {shown(order)}, in this order."
    return _reordered(input, order, words)


@index_map(*list_forms("movedim", "moveaxis"))
def movedim(input: Meta, source: Any, destination: Any) -> Any:
    rank = len(input.shape)
    sources = [source] if isinstance(source, int) else list(source)
    ends = [destination] if isinstance(destination, int) else list(destination)
    sources, ends = [_whole(d, rank) for d in sources], [_whole(d, rank) for d in ends]
    kept = iter([dim for dim in range(rank) if dim not in sources])
    goes = dict(zip(ends, sources, strict=True))
    order = [goes[dim] if dim in goes else next(kept) for dim in range(rank)]
    words = f"Dims {shown(sources)} go to {shown(ends)}; the others keep their order."
    return _reordered(input, order, words)


@index_map("torch.Tensor.T", "torch.Tensor.mT", *list_forms("t", in_place=True),
           "torch.t_copy")  # fmt: skip
def last_two(input: Meta) -> Any:
    rank = len(input.shape)
    order = [*range(max(rank - 2, 0)), *reversed(range(max(rank - 2, 0), rank))]
    words = "Rows become columns; nothing moves in memory."
    return _reordered(input, order, words)


@index_map("torch.Tensor.H", "torch.Tensor.mH", *list_forms("adjoint"))
def adjoint(input: Meta) -> Any:
    if input.dtype.startswith("complex"):
        return NotDrawn("it conjugates complex elements")
    return last_two(input)


# -- dims of size 1 --------------------------------------------------------------------


def _broadcast(name: str, input: Meta, shape: Sequence[int], words: str) -> IndexMap:
    """Map a broadcast input, aligned from the right; size 1 is read at index 0."""
    letters = out_letters(len(shape))
    new = len(shape) - len(input.shape)
    pairs = zip(letters[new:], input.shape, shape[new:], strict=True)
    at = tuple(letter if size == to else number(0) for letter, size, to in pairs)
    return IndexMap(tuple(shape), (Read(name, at),), sentence=words)


@index_map("torch.Tensor.expand", "torch.Tensor.broadcast_to")
def expand(input: Meta, *sizes: Any, size: Any = None, implicit: bool = False) -> Any:
    sizes = tuple(sizes if size is None else size)
    new = len(sizes) - len(input.shape)
    kept = (*sizes[:new], *input.shape)
    shape = [k if n == -1 else n for n, k in zip(sizes, kept, strict=True)]
    words = f"{shown(input.shape)}, lined up from the right with {shown(shape)}: "
    words += "a size of 1, or none, is read again and again, and never copied."
    return _broadcast("input", input, shape, words)


@index_map("torch.broadcast_to", "torch.expand_copy")
def broadcast_to(input: Meta, size: Any, implicit: bool = False) -> Any:
    return expand(input, *size)


@index_map("torch.Tensor.expand_as")
def expand_as(input: Meta, other: Meta) -> Any:
    return expand(input, *other.shape)


@index_map("torch.broadcast_tensors")
def broadcast_tensors(*tensors: Meta) -> Any:
    rank = max((len(operand.shape) for operand in tensors), default=0)
    padded = [
        (1,) * (rank - len(operand.shape)) + tuple(operand.shape) for operand in tensors
    ]
    shape = [max(n, key=lambda size: size != 1) for n in zip(*padded, strict=True)]
    words = f"Lined up from the right to {shown(shape)}: a size of 1 is read again."
    return tuple(
        _broadcast(f"tensors.{n}", operand, shape, words)
        for n, operand in enumerate(tensors)
    )


@index_map(*list_forms("unsqueeze", in_place=True), "torch.unsqueeze_copy")
def unsqueeze(input: Meta, dim: int) -> Any:
    rank = len(input.shape)
    dim %= rank + 1
    letters = out_letters(rank + 1)
    shape = (*input.shape[:dim], 1, *input.shape[dim:])
    at = (*letters[:dim], *letters[dim + 1 :])
    words = f"A dim of size 1 is put in at {dim}; nothing moves in memory."
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map(*list_forms("squeeze", in_place=True), "torch.squeeze_copy")
def squeeze(input: Meta, dim: Any = None) -> Any:
    rank = len(input.shape)
    asked = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    if not all(isinstance(entry, int) for entry in asked):
        return NotDrawn("its dims are named")
    wanted = {_whole(entry, rank) for entry in asked}
    gone = [d for d, size in enumerate(input.shape) if d in wanted and size == 1]
    kept = [d for d in range(rank) if d not in gone]
    letters = iter(out_letters(len(kept)))
    at = tuple(next(letters) if d in kept else number(0) for d in range(rank))
    shape = tuple(input.shape[d] for d in kept)
    what = f"Of dims {shown(gone)}, of size 1, nothing is left" if gone else ""
    words = f"{what or 'None of the given dims has size 1'}; nothing moves in memory."
    return IndexMap(shape, (Read("input", at),), sentence=words)


def known(value: Any) -> Any:
    """Return a number, which may be given as a tensor, or None if it is unknown."""
    return getattr(value, "values", None) if hasattr(value, "shape") else value


@index_map(*list_forms("select"), "torch.select_copy")
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


@index_map(*list_forms("narrow", "narrow_copy"))
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


@index_map(*list_forms("diagonal"), "torch.diagonal_copy")
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
    diagonal_map = diagonal(A, offset, dim1, dim2)
    if isinstance(diagonal_map, NotDrawn):
        return diagonal_map
    reads = (Read("A", diagonal_map.reads[0].indices),)
    return IndexMap(diagonal_map.shape, reads, sentence=diagonal_map.sentence)


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


@index_map(*list_forms("as_strided", in_place=True), "torch.as_strided_copy")
def as_strided(
    input: Meta, size: Any, stride: Any, storage_offset: int | None = None
) -> Any:
    shape, stride = tuple(size), tuple(stride)
    offset = getattr(input, "offset", 0)
    start = 0 if storage_offset is None else storage_offset - offset
    letters = out_letters(len(shape))
    cell = total([*zip(letters, stride, strict=True), (start, 1)])
    sizes = list_sizes(shape)
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


@index_map("tensor")
def tensor(input: Meta) -> IndexMap:
    shape = tuple(input.shape)
    return IndexMap(shape, (Read("input", out_letters(len(shape))),))
