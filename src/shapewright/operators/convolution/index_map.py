"""Index maps of convolution and its transpose, in one to three dims.

A plain convolution, written by hand, with 3 x 3 weights and padding of 1::

    out[n, o, h, w] = sum over c, u, v of
        input[n, c, h + u - 1, w + v - 1] * weight[o, c, u, v]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    SPACE,
    STEPS,
    build_inside_conditions,
    build_loops,
    build_read_index,
    places,
    write_size,
)
from shapewright.index_maps.index_map import (
    Condition,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Within,
    index_map,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.sizes.expressions import Expression, Letter
from shapewright.sizes.window_sizes import Window, compute_convolved, expand_per_dim


def _grouped(out: Letter, per_group: int, channels: int, groups: int) -> Expression:
    """Return the first input channel of the group that an output channel belongs to."""
    if groups == 1:
        return out * 0
    return out // per_group * channels


def _convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> IndexMap | NotDrawn:
    if reason := _unsummed(input, weight):
        return NotDrawn(reason)
    outputs, channels, *kernel = weight.shape
    sizes = input.shape[-len(kernel) :]
    over = compute_convolved(sizes, kernel, stride, padding, dilation)
    o, c, lined, loops = _axes(channels, over)
    inner = [step for _, _, step in lined]
    words = (
        f"Each output element is the sum of {channels * prod(kernel)} products: a "
        f"{write_size(kernel)} window over {_counted(channels)}{_of(groups)}, times "
        f"the weights of output channel `o`{', plus its bias' if bias else ''}."
    )
    return _summed(
        input,
        (outputs, *(window.places for window in over)),
        _grouped(o, outputs // groups, channels, groups) + c,
        [build_read_index(*window) for window in lined],
        (o, c, *inner),
        loops,
        [
            condition
            for window in lined
            for condition in build_inside_conditions(*window)
        ],
        bias,
        sentence=words,
        windows=over,
    )


def _transposed(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> IndexMap | NotDrawn:
    if reason := _unsummed(input, weight):
        return NotDrawn(reason)
    inputs, per_group, *kernel = weight.shape
    dims = len(kernel)
    over = compute_convolved(input.shape[-dims:], kernel, stride, padding, dilation)
    sizes = list(map(Window.spread, over, expand_per_dim(output_padding, dims)))
    o, c, lined, loops = _axes(inputs // groups, over)
    sent_from = [
        sent(window, size, place, step)
        for (window, place, step), size in zip(lined, sizes, strict=True)
    ]
    channel = _grouped(o, per_group, inputs // groups, groups) + c
    steps = [window.stride for window in over]
    apart = f", the blocks {write_size(steps)} apart" if max(steps) > 1 else ""
    words = (
        f"Each input element is sent, times the weights, into a {write_size(kernel)} "
        f"block of each output channel{_of(groups)}{apart}; overlapping values are "
        "summed"
        f"{', with the bias' if bias else ''}."
    )
    own = o % per_group if groups > 1 else o
    return _summed(
        input,
        (per_group * groups, *sizes),
        channel,
        [source for source, _ in sent_from],
        (channel, own, *(step for _, _, step in lined)),
        loops,
        [condition for _, conditions in sent_from for condition in conditions],
        bias,
        sentence=words,
        windows=over,
        sizing="spread",
    )


Lined = list[tuple[Window, Expression, Expression]]


def _axes(
    channels: int, over: tuple[Window, ...]
) -> tuple[Letter, Expression, Lined, tuple[Loop, ...]]:
    """Return the letters of output and input channels, each window with its position
    and step, and the loops over channels and steps."""
    kernel = [window.kernel for window in over]
    loops, (c, *inner) = build_loops(
        dict(zip(("c", *STEPS[len(over)]), (channels, *kernel), strict=True))
    )
    return Letter("o"), c, list(zip(over, places(len(over)), inner, strict=True)), loops


def _summed(
    input: Meta, output_sizes: Sequence[int], channel: Expression,
    at: Sequence[Expression], weight: tuple[Expression, ...],
    loops: tuple[Loop, ...],
    conditions: Sequence[Condition], bias: Meta | None, **more: Any,
) -> IndexMap:  # fmt: skip
    """Return the sum of products of input and weight, plus the bias.

    `output_sizes` is the output's shape without the batch, `weight` the indices of
    the weights.
    """
    dims = len(at)
    batch = tuple(input.shape[: -dims - 1])
    n = ("n",) * len(batch)
    return IndexMap(
        (*batch, *output_sizes),
        (Read("input", (*map(Letter, n), channel, *at)), Read("weight", weight)),
        loops,
        tuple(conditions),
        term="product",
        combine="sum",
        start=None if bias is None else Read("bias", (Letter("o"),)),
        letters=(*n, "o", *SPACE[dims]),
        **more,
    )


def _unsummed(input: Meta, weight: Meta) -> str:
    """Return the reason why the map is not a plain sum of products, or ""."""
    if 0 in weight.shape:
        return "its weights are empty"
    if input.dtype in ("uint8", "int8", "int16"):
        return f"its sums wrap around at the ends of {input.dtype}"
    return ""


def sent(
    window: Window, size: int, place: Expression, step: Expression
) -> tuple[Expression, list[Within]]:
    """Return the input index that reaches `place` at a step, and its conditions."""
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


def _counted(channels: int) -> str:
    """Format a number of channels: `1 channel`, `3 channels`."""
    return f"{channels} channel{'s' if channels != 1 else ''}"


def _of(groups: int) -> str:
    """Return a phrase that names the number of groups, or "" if there is only one."""
    return f" of its group ({groups} groups)" if groups > 1 else ""


for _dims in (1, 2, 3):
    index_map(f"torch.conv{_dims}d", f"torch.nn.functional.conv{_dims}d")(_convolution)
    index_map(
        f"torch.conv_transpose{_dims}d", f"torch.nn.functional.conv_transpose{_dims}d"
    )(_transposed)
