"""Index maps of unfold and fold, and of moving between channels and space.

The columns of `unfold` have a row for each channel and step of the window, and a
column for each place that it takes.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.dims.expression import Expression, Letter
from shapewright.rules.maps.convolving import sent
from shapewright.rules.maps.index_map import IndexMap, NotDrawn, Read, index_map
from shapewright.rules.maps.windows import inside, leading, looped, named, reads_at
from shapewright.rules.meta import Meta
from shapewright.rules.windows import convolved, per_dim


@index_map("torch.nn.functional.unfold")
def unfold(
    input: Meta, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> IndexMap:
    *batch, channels, high, wide = input.shape
    kernel = per_dim(kernel_size, 2)
    over = convolved((high, wide), kernel, stride, padding, dilation)
    (rows, columns), block = (window.places for window in over), prod(kernel)
    letters = (*leading(len(batch)), "r", "p")
    *n, r, p = map(Letter, letters)
    place = (modulo(p // columns, rows, rows), modulo(p, columns, rows * columns))
    step = (
        modulo(r // kernel[1], kernel[0], channels * kernel[0]),
        modulo(r, kernel[1], channels * block),
    )
    lined = list(zip(over, place, step, strict=True))
    at = tuple(reads_at(window, here, inner) for window, here, inner in lined)
    within = [c for window, here, s in lined for c in inside(window, here, s)]
    channel = r // block if channels > 1 else r * 0
    words = (
        f"Column `p` holds block `p` of {rows} x {columns}: each {named(kernel)} block "
        f"of {channels} channel{'s' if channels > 1 else ''} becomes {channels * block}"
        f" numbers{', 0 in the padding' if within else ''}."
    )
    return IndexMap(
        (*batch, channels * block, rows * columns),
        (Read("input", (*n, channel, *at), tuple(within)),),
        start=0 if within else None,
        letters=letters,
        sentence=words,
        windows=over,
    )


def modulo(value: Expression, divisor: int, bound: int) -> Expression:
    """The rest of `value`, which lies below `bound`: as it is where it is smaller."""
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
    sizes = per_dim(output_size, 2)
    kernel = per_dim(kernel_size, 2)
    channels = rows // prod(kernel)
    over = convolved(sizes, kernel, stride, padding, dilation)
    letters = (*leading(len(batch)), "c", "h", "w")
    *n, c, h, w = map(Letter, letters)
    loops, (u, v) = looped(dict(zip("uv", kernel, strict=True)))
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
        f"{named(kernel)} block that it stands for; where blocks overlap, their "
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
    letters = (*leading(len(batch)), "c", "h", "w")
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
    letters = (*leading(len(batch)), "c", "h", "w")
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
    each = channels // groups
    channel: Expression = c
    if groups > 1 and each > 1:
        channel = c % groups * each + c // groups
    return IndexMap(
        (batch, channels, *space),
        (Read("input", (n, channel, *rest)),),
        letters=letters,
        sentence=f"The channels are dealt out in turn from {groups} groups of {each}.",
    )
