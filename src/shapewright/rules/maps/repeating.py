"""Index maps of repeating, rolling and turning around."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.dims.expression import Expression
from shapewright.rules.maps.index_map import (
    IndexMap,
    Listed,
    NotDrawn,
    Read,
    index_map,
    out_letters,
)
from shapewright.rules.maps.places import index_at, modulo, over, place, sizes_of
from shapewright.rules.maps.slicing import known
from shapewright.rules.maps.views import named, shown
from shapewright.rules.meta import Meta


@index_map("torch.Tensor.repeat")
def repeat(input: Meta, *repeats: Any, sizes: Any = None) -> Any:
    times = tuple(repeats if sizes is None else sizes)
    rank = len(input.shape)
    whole = (1,) * (len(times) - rank) + tuple(input.shape)
    shape = tuple(n * size for n, size in zip(times, whole, strict=True))
    letters = out_letters(len(shape))
    pairs = zip(letters[len(times) - rank :], input.shape, strict=True)
    limits = sizes_of(shape)
    at = tuple(modulo(letter, max(size, 1), limits) for letter, size in pairs)
    words = f"The whole tensor, {shown(times)} times along the dims, copied: 0 1 0 1."
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map("torch.tile")
def tile(input: Meta, dims: Sequence[int]) -> Any:
    return repeat(input, *(1,) * (len(input.shape) - len(dims)), *dims)


@index_map("torch.Tensor.tile")
def tile_method(input: Meta, *repeats: Any, dims: Any = None) -> Any:
    return tile(input, tuple(repeats if dims is None else dims))


@index_map(*named("repeat_interleave"))
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
        sizes = sizes_of((*flat[:dim], length, *flat[dim + 1 :]))
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


@index_map(*named("roll"))
def roll(input: Meta, shifts: Any, dims: Any = None) -> Any:
    shape = tuple(input.shape)
    by = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    along = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    letters = out_letters(len(shape))
    sizes = sizes_of(shape)
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


@index_map(*named("flip"))
def flip(input: Meta, *order: Any, dims: Any = None) -> Any:
    found = order if dims is None else (dims,) if isinstance(dims, int) else dims
    return flipped(input, {dim % max(len(input.shape), 1) for dim in found})


@index_map(*named("fliplr"))
def fliplr(input: Meta) -> Any:
    return flipped(input, {1})


@index_map(*named("flipud"))
def flipud(input: Meta) -> Any:
    return flipped(input, {0})


def flipped(input: Meta, dims: set[int]) -> IndexMap:
    """Backwards along these dims."""
    shape = tuple(input.shape)
    letters = out_letters(len(shape))
    at = tuple(
        size - 1 - letter if dim in dims else letter
        for dim, (letter, size) in enumerate(zip(letters, shape, strict=True))
    )
    words = f"Backwards along dims {shown(sorted(dims))}; the elements are copied."
    return IndexMap(shape, (Read("input", at),), sentence=words)


@index_map(*named("rot90"))
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
