"""Index maps of convolution and its transpose, in one to three dims.

A plain convolution as a person writes it, with 3 x 3 weights and padding of 1::

    out[n, o, h, w] = sum over c, u, v of
        input[n, c, h + u - 1, w + v - 1] * weight[o, c, u, v]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.dims.expression import Expression, Letter
from shapewright.rules.maps.index_map import (
    IndexMap,
    NotDrawn,
    Read,
    Within,
    index_map,
)
from shapewright.rules.maps.windows import (
    SPACE,
    STEPS,
    Window,
    looped,
    named,
    per_dim,
    places,
)
from shapewright.rules.meta import Meta


def windows(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Any,
    padding: Any,
    dilation: Any,
) -> tuple[Window, ...]:
    """The windows of a convolution, one a dim."""
    dims = len(kernel)
    dilation = per_dim(dilation, dims)
    if padding == "valid":
        padding = 0
    if padding == "same":
        # An odd total is padded by one more at the far side.
        sides = [
            (d * (k - 1) // 2, d * (k - 1) - d * (k - 1) // 2)
            for d, k in zip(dilation, kernel, strict=True)
        ]
    else:
        sides = [(pad, pad) for pad in per_dim(padding, dims)]
    strides = per_dim(stride, dims)
    return tuple(
        Window(size, width, step, *side, reach)
        for size, width, step, side, reach in zip(
            sizes, kernel, strides, sides, dilation, strict=True
        )
    )


def grouped(out: Letter, per_group: int, channels: int, groups: int) -> Expression:
    """The first input channel of the group of an output channel."""
    if groups == 1:
        return out * 0
    return out // per_group * channels


def convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> IndexMap | NotDrawn:
    if reason := unsummed(input, weight):
        return NotDrawn(reason)
    outputs, channels, *kernel = weight.shape
    dims = len(kernel)
    batch = input.shape[: -dims - 1]
    over = windows(input.shape[-dims:], kernel, stride, padding, dilation)
    letters = (*("n",) * len(batch), "o", *SPACE[dims])
    loops, (c, *inner) = looped(
        dict(zip(("c", *STEPS[dims]), (channels, *kernel), strict=True))
    )
    o = Letter("o")
    n = (Letter("n"),) * len(batch)
    lined = list(zip(over, places(dims), inner, strict=True))
    channel = grouped(o, outputs // groups, channels, groups) + c
    at = (window.at(place, step) for window, place, step in lined)
    inside = (window.within(place, step) for window, place, step in lined)
    words = (
        f"Each output element is the sum of {channels * prod(kernel)} products: a "
        f"{named(kernel)} window over {counted(channels)}{of(groups)}, times the "
        f"weights of output channel `o`{', plus its bias' if bias else ''}."
    )
    return IndexMap(
        (*batch, outputs, *(window.places for window in over)),
        (Read("input", (*n, channel, *at)), Read("weight", (o, c, *inner))),
        loops,
        tuple(condition for conditions in inside for condition in conditions),
        term="product",
        combine="sum",
        start=None if bias is None else Read("bias", (o,)),
        letters=letters,
        sentence=words,
    )


def transposed(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> IndexMap | NotDrawn:
    if reason := unsummed(input, weight):
        return NotDrawn(reason)
    inputs, per_group, *kernel = weight.shape
    dims = len(kernel)
    batch = input.shape[: -dims - 1]
    channels = inputs // groups
    letters = (*("n",) * len(batch), "o", *SPACE[dims])
    loops, (c, *inner) = looped(
        dict(zip(("c", *STEPS[dims]), (channels, *kernel), strict=True))
    )
    o = Letter("o")
    n = (Letter("n"),) * len(batch)
    channel = grouped(o, per_group, channels, groups) + c
    steps = per_dim(stride, dims)
    over = windows(input.shape[-dims:], kernel, stride, padding, dilation)
    more = per_dim(output_padding, dims)
    sizes = [spread(window, extra) for window, extra in zip(over, more, strict=True)]
    at: list[Expression] = []
    hit: list[Within] = []
    lined = zip(over, sizes, places(dims), inner, strict=True)
    for window, size, place, step in lined:
        source, conditions = sent(window, size, place, step)
        at.append(source)
        hit.extend(conditions)
    apart = f", the blocks {named(steps)} apart" if max(steps) > 1 else ""
    words = (
        f"Each input element is sent, times the weights, into a {named(kernel)} block "
        f"of each output channel{of(groups)}{apart}; what meets is summed"
        f"{', with the bias' if bias else ''}."
    )
    return IndexMap(
        (*batch, per_group * groups, *sizes),
        (
            Read("input", (*n, channel, *at)),
            Read("weight", (channel, o % per_group if groups > 1 else o, *inner)),
        ),
        loops,
        tuple(hit),
        term="product",
        combine="sum",
        start=None if bias is None else Read("bias", (o,)),
        letters=letters,
        sentence=words,
    )


def unsummed(input: Meta, weight: Meta) -> str:
    """Why the products are not just summed, if so."""
    if 0 in weight.shape:
        return "its weights are empty"
    if input.dtype in ("uint8", "int8", "int16"):
        return f"its sums wrap around at the ends of {input.dtype}"
    return ""


def spread(window: Window, more: int) -> int:
    """The size that a transposed convolution makes of a window's input."""
    return (
        (window.size - 1) * window.stride
        - window.before
        - window.after
        + window.reach
        + more
    )


def sent(
    window: Window, size: int, place: Expression, step: Expression
) -> tuple[Expression, list[Within]]:
    """The place of the window that reaches `place` at a step, and when there is one."""
    shifted = place + window.before - step * window.dilation
    source = shifted // window.stride
    conditions = []
    if window.stride > 1:
        conditions.append(Within(shifted % window.stride, 0, 1))
    least = window.before - window.reach + 1
    most = (size - 1 + window.before) // window.stride
    if least < 0 or most >= window.size:
        conditions.append(Within(source, 0, window.size))
    return source, conditions


def counted(channels: int) -> str:
    """`1 channel`, `3 channels`."""
    return f"{channels} channel{'s' if channels != 1 else ''}"


def of(groups: int) -> str:
    """The groups in a sentence, where there are several."""
    return f" of its group ({groups} groups)" if groups > 1 else ""


for _dims in (1, 2, 3):
    index_map(f"torch.conv{_dims}d", f"torch.nn.functional.conv{_dims}d")(convolution)
    index_map(
        f"torch.conv_transpose{_dims}d", f"torch.nn.functional.conv_transpose{_dims}d"
    )(transposed)
