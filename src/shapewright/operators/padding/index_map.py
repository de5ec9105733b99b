"""Index maps of padding, triangles and diagonals, of `unfold` and `fold`, and of pixel
shuffles.

The columns of `unfold` have a row for each channel and step of the window, and a
column for each position of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    build_inside_conditions,
    build_loops,
    build_read_index,
    index_at,
    list_leading,
    write_size,
)
from shapewright.index_maps.index_map import (
    AtMost,
    Condition,
    Equal,
    IndexMap,
    NotDrawn,
    Read,
    Within,
    index_map,
    out_letters,
)
from shapewright.operators.convolution.index_map import sent
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.padding.shapes import pad_pairs
from shapewright.operators.view_operators.index_map import diagonal as diagonal_of
from shapewright.operators.view_operators.index_map import list_forms
from shapewright.sizes.expressions import Absolute, Clamped, Expression, Letter
from shapewright.sizes.window_sizes import compute_convolved, expand_per_dim

MODES = {
    "reflect": "Mirrored at the edges, which are not repeated",
    "replicate": "The edges are repeated",
    "circular": "What comes out at one end goes in at the other",
}


@index_map("torch.nn.functional.pad", "torch._C._nn.pad")
def pad(
    input: Meta, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Any:
    pairs = pad_pairs(pad, len(input.shape))
    if mode == "constant":
        return _filled(input, pairs, value or 0)
    shape = []
    at: list[Expression] = []
    letters = out_letters(len(input.shape))
    for letter, size, (left, right) in zip(letters, input.shape, pairs, strict=True):
        if mode == "circular" and size + min(left, right, 0) < max(left, right):
            return NotDrawn("a dim is padded with more than is left of it")
        shape.append(size + left + right)
        at.append(_read_at(letter, size, left, right, mode))
    words = f"{MODES[mode]}, with {_written(pairs)}."
    return IndexMap(tuple(shape), (Read("input", tuple(at)),), sentence=words)


def _written(pairs: list[tuple[int, int]]) -> str:
    """Format the padding as text, for the dims that have any."""
    parts = [f"{a} + {b} at dim {d}" for d, (a, b) in enumerate(pairs) if a or b]
    return " and ".join(parts) or "nothing"


@index_map("torch.constant_pad_nd")
def constant_pad_nd(input: Meta, pad: Sequence[int], value: float = 0) -> Any:
    return _filled(input, pad_pairs(pad, len(input.shape)), value)


def _filled(input: Meta, pairs: list[tuple[int, int]], value: float) -> IndexMap:
    """Map padding with a constant value; negative padding crops."""
    letters = out_letters(len(input.shape))
    shape, at = [], []
    inside: list[Condition] = []
    for letter, size, (left, right) in zip(letters, input.shape, pairs, strict=True):
        shape.append(size + left + right)
        at.append(letter - left)
        if left > 0 or right > 0:
            inside.append(Within(letter, max(left, 0), left + size))
    words = f"{value} around the input: {_written(pairs)}; a negative one cuts off."
    reads = (Read("input", tuple(at)),)
    return IndexMap(
        tuple(shape), reads, conditions=tuple(inside), start=value, sentence=words
    )


def _read_at(letter: Letter, size: int, left: int, right: int, mode: str) -> Expression:
    """Return the index of the input element that a padded dim reads."""
    here = letter - left
    if mode == "replicate":
        low, high = 0 if left > 0 else None, size - 1 if right > 0 else None
        return here if low is high is None else Clamped(here, low, high)
    if mode == "circular":
        if left <= 0 and right <= 0:
            return here
        cut = max(-left, 0)
        period = size - cut + min(right, 0)
        return (letter - max(left, 0)) % period + cut
    if left > 0:
        here = Absolute(here)
    return size - 1 - Absolute(size - 1 - here) if right > 0 else here


# -- triangles and diagonals -----------------------------------------------------------


@index_map(*list_forms("tril", in_place=True))
def tril(input: Meta, diagonal: int = 0) -> Any:
    *_, i, j = out_letters(len(input.shape))
    return _triangle(input, AtMost(j, i + diagonal), f"below diagonal {diagonal}")


@index_map(*list_forms("triu", in_place=True))
def triu(input: Meta, diagonal: int = 0) -> Any:
    *_, i, j = out_letters(len(input.shape))
    return _triangle(input, AtMost(i + diagonal, j), f"above diagonal {diagonal}")


def _triangle(input: Meta, kept: Condition, where: str) -> IndexMap:
    """Map a triangle: the elements for which `kept` holds, and 0 elsewhere."""
    shape = tuple(input.shape)
    reads = (Read("input", out_letters(len(shape))),)
    words = f"On and {where} of each matrix as it is, 0 elsewhere."
    return IndexMap(shape, reads, conditions=(kept,), start=0, sentence=words)


@index_map(*list_forms("diag"))
def diag(input: Meta, diagonal: int = 0) -> Any:
    if len(input.shape) == 1:
        return diag_embed(input, diagonal)
    return diagonal_of(input, diagonal)


@index_map(*list_forms("diag_embed"))
def diag_embed(input: Meta, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    rank = len(input.shape) + 1
    down, right = dim1 % rank, dim2 % rank
    size = input.shape[-1] + abs(offset)
    letters = out_letters(rank)
    rest = [letter for d, letter in enumerate(letters) if d not in (down, right)]
    kept = iter(input.shape[:-1])
    shape = tuple(size if d in (down, right) else next(kept) for d in range(rank))
    i, j = letters[down], letters[right]
    hit = Equal(j, i + offset) if offset >= 0 else Equal(i, j - offset)
    along = i if offset >= 0 else j
    words = f"The last dim as diagonal {offset} of dims {down} and {right}, else 0."
    reads = (Read("input", (*rest, along)),)
    return IndexMap(shape, reads, conditions=(hit,), start=0, sentence=words)


@index_map(*list_forms("diagflat"))
def diagflat(input: Meta, offset: int = 0) -> Any:
    count = prod(input.shape)
    size = count + abs(offset)
    i, j = out_letters(2)
    hit = Equal(j, i + offset) if offset >= 0 else Equal(i, j - offset)
    # On the diagonal, `along` stays below `count`, whatever the matrix has.
    along = i if offset >= 0 else j
    at = index_at(along, input.shape, {along.name: count})
    words = f"All elements in row-major order, on diagonal {offset} of a matrix of 0."
    reads = (Read("input", at),)
    return IndexMap((size, size), reads, conditions=(hit,), start=0, sentence=words)


@index_map("torch.nn.functional.unfold")
def unfold(
    input: Meta, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> IndexMap:
    *batch, channels, high, wide = input.shape
    kernel = expand_per_dim(kernel_size, 2)
    over = compute_convolved((high, wide), kernel, stride, padding, dilation)
    (rows, columns), block = (window.places for window in over), prod(kernel)
    letters = (*list_leading(len(batch)), "r", "p")
    *n, r, p = map(Letter, letters)
    place = (_modulo(p // columns, rows, rows), _modulo(p, columns, rows * columns))
    step = (
        _modulo(r // kernel[1], kernel[0], channels * kernel[0]),
        _modulo(r, kernel[1], channels * block),
    )
    lined = list(zip(over, place, step, strict=True))
    at = tuple(build_read_index(window, here, inner) for window, here, inner in lined)
    within = [
        c for window, here, s in lined for c in build_inside_conditions(window, here, s)
    ]
    channel = r // block if channels > 1 else r * 0
    words = (
        f"Column `p` holds block `p` of {rows} x {columns}: each {write_size(kernel)} "
        f"block of {channels} channel{'s' if channels > 1 else ''} becomes "
        f"{channels * block} numbers{', 0 in the padding' if within else ''}."
    )
    return IndexMap(
        (*batch, channels * block, rows * columns),
        (Read("input", (*n, channel, *at), tuple(within)),),
        start=0 if within else None,
        letters=letters,
        sentence=words,
        windows=over,
    )


def _modulo(value: Expression, divisor: int, bound: int) -> Expression:
    """Return `value % divisor`, or just `value` if `bound` equals `divisor`."""
    return value if bound == divisor > 1 else value % divisor


@index_map("torch.nn.functional.fold")
def fold(
    input: Meta,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> IndexMap | NotDrawn:
    if input.dtype == "bool":
        return NotDrawn("sums of bools are bools")
    *batch, rows, _ = input.shape
    sizes = expand_per_dim(output_size, 2)
    kernel = expand_per_dim(kernel_size, 2)
    channels = rows // prod(kernel)
    over = compute_convolved(sizes, kernel, stride, padding, dilation)
    letters = (*list_leading(len(batch)), "c", "h", "w")
    *n, c, h, w = map(Letter, letters)
    loops, (u, v) = build_loops(dict(zip("uv", kernel, strict=True)))
    place, hit = [], []
    for window, at, step in zip(over, (h, w), (u, v), strict=True):
        source, conditions = sent(
            window._replace(size=window.places), window.size, at, step
        )
        place.append(source)
        hit.extend(conditions)
    row = c * prod(kernel) + u * kernel[1] + v
    column = place[0] * over[1].places + place[1]
    words = (
        f"Each of the {over[0].places} x {over[1].places} columns goes back to the "
        f"{write_size(kernel)} block that it represents; where blocks overlap, their "
        "elements are summed."
    )
    return IndexMap(
        (*batch, channels, *sizes),
        (Read("input", (*n, row, column)),),
        loops,
        tuple(hit),
        combine="sum",
        letters=letters,
        sentence=words,
        windows=over,
    )


@index_map("torch.pixel_shuffle", "torch.nn.functional.pixel_shuffle")
def pixel_shuffle(input: Meta, upscale_factor: int) -> IndexMap:
    *batch, channels, high, wide = input.shape
    factor = upscale_factor
    block = factor * factor
    letters = (*list_leading(len(batch)), "c", "h", "w")
    *n, c, h, w = map(Letter, letters)
    channel = c * block + h % factor * factor + w % factor
    return IndexMap(
        (*batch, channels // block, high * factor, wide * factor),
        (Read("input", (*n, channel, h // factor, w // factor)),),
        letters=letters,
        sentence=f"Every {block} channels of a pixel become a {factor} x {factor} "
        "block of pixels.",
    )


@index_map("torch.pixel_unshuffle", "torch.nn.functional.pixel_unshuffle")
def pixel_unshuffle(input: Meta, downscale_factor: int) -> IndexMap:
    *batch, channels, high, wide = input.shape
    factor = downscale_factor
    block = factor * factor
    letters = (*list_leading(len(batch)), "c", "h", "w")
    *n, c, h, w = map(Letter, letters)
    row = h * factor + c // factor % factor
    return IndexMap(
        (*batch, channels * block, high // factor, wide // factor),
        (Read("input", (*n, c // block, row, w * factor + c % factor)),),
        letters=letters,
        sentence=f"Every {factor} x {factor} block of pixels becomes {block} channels "
        "of a pixel.",
    )


@index_map(
    "torch.channel_shuffle",
    "torch.native_channel_shuffle",
    "torch.nn.functional.channel_shuffle",
)
def channel_shuffle(input: Meta, groups: int) -> IndexMap:
    batch, channels, *space = input.shape
    letters = ("n", "c", *"hwijklpq"[: len(space)])
    n, c, *rest = map(Letter, letters)
    per_group = channels // groups
    channel: Expression = c
    if groups > 1 and per_group > 1:
        channel = c % groups * per_group + c // groups
    return IndexMap(
        (batch, channels, *space),
        (Read("input", (n, channel, *rest)),),
        letters=letters,
        sentence=f"The channels are dealt out in turn from {groups} groups of "
        f"{per_group}.",
    )
