"""Needs of convolutions and transposed convolutions."""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import (
    CHANNEL_MISMATCH,
    CHANNELS_LAST,
    GROUPS_DO_NOT_DIVIDE,
    MISSING_CHANNEL_DIM,
    OUTPUT_PADDING_TOO_LARGE,
    WINDOW_NUMBERS,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.need_checks import (
    LAYOUT,
    dims,
    dtype_unmet,
    each,
    is_square_at_end,
    of_settings,
    of_spatial_rank,
    resized,
    same_dtype,
    text,
    too_large,
    turned,
    with_dim,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.promotion_and_broadcasting import FLOATING


@needs("torch.conv1d", "torch.conv2d", "torch.conv3d")
def convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Unmet | None:
    """Check the dims, channels and dtypes, and that the kernel fits into the input."""
    spatial = len(weight.shape) - 2
    if spatial not in LAYOUT:
        return None
    wrong = _of_kernel(weight, stride, dilation)
    if wrong is None:
        wrong = of_settings(spatial, stride=stride, dilation=dilation, groups=groups)
    if wrong is None and not isinstance(padding, str):
        wrong = of_settings(spatial, padding=padding)
    if wrong is not None:
        return wrong
    channels = weight.shape[1] * groups
    wrong = of_spatial_rank(
        input, spatial, (1, 1) if channels == 1 else None
    ) or _of_channels(
        input, spatial, channels, Place("weight", 1 if groups == 1 else 0), groups
    )
    if wrong is not None:
        return wrong
    if weight.shape[0] % groups:
        return Unmet(
            GROUPS_DO_NOT_DIVIDE,
            f"{{op}} cannot divide {weight.shape[0]} output channels into {groups}"
            " groups",
            Place("weight", 0),
            has=weight.shape[0],
            needs=groups,
        )
    if not isinstance(padding, str):
        wrong = too_large(
            input, weight.shape[2:], each(padding, spatial), each(dilation, spatial)
        )
    return wrong or _of_dtypes(input, weight, bias)


@needs("torch.conv_transpose1d", "torch.conv_transpose2d", "torch.conv_transpose3d")
def transposed(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Unmet | None:
    """Check dims, channels, dtypes, and that the output padding is small enough."""
    spatial = len(weight.shape) - 2
    if spatial not in LAYOUT:
        return None
    wrong = of_settings(
        spatial,
        stride=stride,
        padding=padding,
        output_padding=output_padding,
        groups=groups,
        dilation=dilation,
    )
    if wrong is not None:
        return wrong
    channels = weight.shape[0]
    wrong = of_spatial_rank(
        input, spatial, (1, 1) if channels == 1 else None
    ) or _of_channels(input, spatial, channels, Place("weight", 0), 1)
    if wrong is not None:
        return wrong
    steps, reach = each(stride, spatial), each(dilation, spatial)
    extra = each(output_padding, spatial)
    for more, step, far in zip(extra, steps, reach, strict=True):
        if more >= step and more >= far:
            fits = [
                min(e, max(s, d) - 1)
                for e, s, d in zip(extra, steps, reach, strict=True)
            ]
            return Unmet(
                OUTPUT_PADDING_TOO_LARGE,
                f"{{op}} needs an output padding smaller than its stride {step}, got"
                f" {more}: it only tells apart sizes that the stride makes equal",
                has=more,
                needs=max(step, far) - 1,
                grants=(Grant("output_padding", tuple(fits)),),
            )
    return _of_dtypes(input, weight, bias)


def _of_kernel(weight: Meta, stride: Any, dilation: Any) -> Unmet | None:
    """Check that a layer's kernel has as many dims as its other settings; a `Conv1d`
    may have been built with two.
    """
    if not isinstance(stride, tuple) or not isinstance(dilation, tuple):
        return None
    kernel, slides = weight.shape[2:], len(stride)
    if slides != len(dilation) or len(kernel) == slides:
        return None
    return Unmet(
        WINDOW_NUMBERS,
        f"{{op}} slides along {dims(slides)}, but the kernel of its weight has"
        f" {len(kernel)}: {text(kernel)}",
    )


def _of_channels(
    input: Meta, spatial: int, channels: int, wanted: Place, groups: int
) -> Unmet | None:
    """Check that the input has as many channels as the weight expects."""
    shape = input.shape
    at = len(shape) - spatial - 1
    if shape[at] == channels:
        return None
    last = len(shape) - 1
    message = f"{{op}} needs {channels} input channels"
    if groups > 1:
        message += f" ({channels // groups} for each of {groups} groups)"
    code = CHANNEL_MISMATCH
    grant = resized(input, at, channels)
    if shape[last] == channels and channels > 1 and not is_square_at_end(shape, at):
        code = CHANNELS_LAST
        message += f" in dim {at}, got {shape[at]}: {{input}} {text(shape)} looks like"
        message += " channels last" if spatial > 1 else " channels in its last dim"
        grant = turned(input, (*range(at), last, *range(at, last)))
    elif channels == 1 and at == 0:
        code = MISSING_CHANNEL_DIM
        message += f" in a dim of its own, got {{input}} {text(shape)} without it"
        grant = with_dim(input, 1)
    else:
        message += f", got {shape[at]} in dim {at} of {{input}} {text(shape)}"
    return Unmet(
        code,
        message,
        Place("input", at),
        wanted,
        shape[at],
        channels,
        (Grant("input", grant),),
    )


def _of_dtypes(input: Meta, weight: Meta, bias: Meta | None) -> Unmet | None:
    """Check that the input, and then the bias, have the dtype of the weight."""
    if input.dtype != weight.dtype and weight.dtype in FLOATING:
        why = f"{{op}} computes in {weight.dtype}"
        return dtype_unmet("input", input, weight.dtype, why, "weight")
    return same_dtype(("input", input), ("bias", bias), ("weight", weight))
