"""Metadata rules for padding, pixel shuffles, `unfold` and `fold`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, Misfit, rule
from shapewright.operators.promotion_and_broadcasting import FLOATING, KNOWN
from shapewright.sizes.strides import (
    channels_last,
    compute_format_strides,
    compute_strides_like,
    contiguous,
    suggest_format,
)
from shapewright.sizes.window_sizes import compute_convolved, expand_per_dim

Shape = tuple[int, ...]


@rule("torch.constant_pad_nd")
def constant_pad_nd(input: Meta, pad: Any, value: Any = 0) -> Any:
    """Infer the output of `pad` with a constant."""
    return padded(input, pad)


@rule("torch.nn.functional.pad", "torch._C._nn.pad")
def padded(
    input: Meta, pad: Any, mode: str = "constant", value: float | None = None
) -> Any:
    """`(8, 3, 32, 32)` padded (1, 1, 2, 2) gives (8, 3, 36, 34)."""
    pads = tuple(pad)
    shape, dtype, count = input.shape, input.dtype, len(pads)
    if any(type(size) is not int for size in pads) or dtype not in KNOWN:
        return NotImplemented
    if count % 2:
        raise Misfit("Padding length must be divisible by 2")
    if count > 2 * len(shape):
        raise Misfit(
            "Padding length should be less than or equal to two times the input "
            f"dimension but got padding length {count} and input of dimension "
            f"{len(shape)}"
        )
    if 0 in shape:
        return NotImplemented
    output_shape = _padded(shape, pads)
    if mode == "constant" and min(output_shape, default=0) >= 0:
        kept = (
            _kept(output_shape, input)
            if max(pads, default=0) > 0
            else _cut(output_shape, input)
        )
        return Made(output_shape, dtype, kept, "ConstantPadNdBackward0")
    if not any(pads) or min(output_shape) < 1:
        return NotImplemented
    return _mirrored(input, output_shape, pads, mode)


def _cut(output_shape: Shape, input: Meta) -> Shape:
    """Return the strides of the copy that results from cropping."""
    return compute_strides_like(output_shape, input.stride)


def pad_pairs(pad: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """Return the padding (left, right) of each dim; `pad` begins with the last dim."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    return [(0, 0)] * (rank - len(pairs)) + pairs


def _padded(shape: Shape, pads: Shape) -> Shape:
    pairs = pad_pairs(pads, len(shape))
    return tuple(
        size + left + right for size, (left, right) in zip(shape, pairs, strict=True)
    )


def _kept(output_shape: Shape, input: Meta) -> Shape | None:
    if len(output_shape) not in (4, 5):
        return None
    return compute_format_strides(
        output_shape, suggest_format(input.shape, input.stride)
    )


def _mirrored(input: Meta, output_shape: Shape, pads: Shape, mode: str) -> Any:
    dims, ndim = len(pads) // 2, len(input.shape)
    if dims > 3 or ndim not in (dims + 1, dims + 2) or min(pads) < 0:
        return NotImplemented
    if input.dtype not in FLOATING:
        return NotImplemented
    if mode != "replicate" and not _reachable(input.shape, pads, mode):
        return NotImplemented
    stride = _kept(output_shape, input)
    hinted = suggest_format(input.shape, input.stride) != "contiguous_format"
    if ndim == 4 and dims == 3 and hinted:
        return NotImplemented
    if mode == "circular":
        return Made(output_shape, input.dtype, None, "CopySlices")
    name = {"reflect": "Reflection", "replicate": "Replication"}.get(mode)
    if name is None:
        return NotImplemented
    return Made(output_shape, input.dtype, stride, f"{name}Pad{dims}DBackward0")


def _reachable(shape: Shape, pads: Shape, mode: str) -> bool:
    """Return whether the elements that the padding repeats lie inside the tensor."""
    room = 0 if mode == "circular" else 1
    return all(
        max(pads[2 * at], pads[2 * at + 1]) <= size - room
        for at, size in zip(range(len(pads) // 2), reversed(shape), strict=False)
    )


def _shuffled(input: Meta, output_shape: Shape, grad_fn: str) -> Any:
    shape = input.shape
    if len(shape) == 5 and suggest_format(shape, input.stride) == "channels_last_3d":
        return NotImplemented
    if len(shape) == 4 and suggest_format(shape, input.stride) == "channels_last":
        return Made(output_shape, input.dtype, channels_last(output_shape), grad_fn)
    return Made(output_shape, input.dtype, None, grad_fn)


@rule("torch.pixel_shuffle", "torch.nn.functional.pixel_shuffle")
def pixel_shuffle(input: Meta, upscale_factor: int) -> Any:
    """`(8, 12, 16, 16)` by 2 gives (8, 3, 32, 32)."""
    shape, by = input.shape, upscale_factor
    if len(shape) < 3:
        raise Misfit(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input "
            f"with {len(shape)} dimension(s)"
        )
    if by < 1 or 0 in shape:
        return NotImplemented
    if shape[-3] % (by * by):
        raise Misfit(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
            "the square of upscale_factor, but input.size(-3)="
            f"{shape[-3]} is not divisible by {by * by}"
        )
    output_shape = (*shape[:-3], shape[-3] // (by * by), shape[-2] * by, shape[-1] * by)
    return _shuffled(input, output_shape, "PixelShuffleBackward0")


@rule("torch.pixel_unshuffle", "torch.nn.functional.pixel_unshuffle")
def pixel_unshuffle(input: Meta, downscale_factor: int) -> Any:
    """`(8, 3, 32, 32)` by 2 gives (8, 12, 16, 16)."""
    shape, by = input.shape, downscale_factor
    if len(shape) < 3 or by < 1 or 0 in shape:
        return NotImplemented
    if shape[-2] % by or shape[-1] % by:
        return NotImplemented
    output_shape = (*shape[:-3], shape[-3] * by * by, shape[-2] // by, shape[-1] // by)
    return _shuffled(input, output_shape, "PixelUnshuffleBackward0")


@rule("torch.channel_shuffle", "torch.nn.functional.channel_shuffle")
def channel_shuffle(input: Meta, groups: int) -> Any:
    """`(8, 12, 16, 16)` in 3 groups gives (8, 12, 16, 16)."""
    shape = input.shape
    if len(shape) < 3 or 0 in shape or type(groups) is not int or groups < 1:
        return NotImplemented
    if shape[1] % groups or input.stride != contiguous(shape):
        return NotImplemented
    return Made(shape, input.dtype, None, "ChannelShuffleBackward0")


def _blocks(sizes: Shape, kernel: Shape, *settings: Any) -> tuple[int, int] | None:
    """Return how many blocks fit (down, across), or None for unusual settings."""
    dilation, padding, stride = (expand_per_dim(value, 2) for value in settings)
    if not all(len(numbers) == 2 for numbers in (kernel, dilation, padding, stride)):
        return None
    if min(*kernel, *dilation, *stride) < 1 or min(padding) < 0:
        return None
    down, across = compute_convolved(sizes, kernel, stride, padding, dilation)
    if min(down.places, across.places) < 1:
        return None
    return down.places, across.places


@rule("torch.nn.functional.unfold")
def unfold(
    input: Meta,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """`(8, 3, 10, 12)` in blocks of (4, 5) gives (8, 60, 56): a column per block."""
    shape, kernel = input.shape, expand_per_dim(kernel_size, 2)
    if len(shape) not in (3, 4) or 0 in shape or input.dtype not in FLOATING:
        return NotImplemented
    blocks = _blocks(shape[-2:], kernel, dilation, padding, stride)
    if blocks is None:
        return NotImplemented
    rows = shape[-3] * kernel[0] * kernel[1]
    output_shape = (*shape[:-3], rows, blocks[0] * blocks[1])
    return Made(output_shape, input.dtype, None, "Im2ColBackward0")


@rule("torch.nn.functional.fold")
def fold(
    input: Meta,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """`(8, 60, 56)` in blocks of (4, 5) folds to (8, 3, 10, 12), adding overlaps."""
    shape = input.shape
    kernel, sizes = expand_per_dim(kernel_size, 2), expand_per_dim(output_size, 2)
    if len(shape) not in (2, 3) or 0 in shape or input.dtype not in FLOATING:
        return NotImplemented
    if len(kernel) != 2 or len(sizes) != 2 or shape[-2] % (kernel[0] * kernel[1]):
        return NotImplemented
    blocks = _blocks(sizes, kernel, dilation, padding, stride)
    if blocks is None or blocks[0] * blocks[1] != shape[-1]:
        return NotImplemented
    output_shape = (*shape[:-2], shape[-2] // (kernel[0] * kernel[1]), *sizes)
    return Made(output_shape, input.dtype, None, "Col2ImBackward0")
