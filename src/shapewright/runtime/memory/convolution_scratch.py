"""What cuDNN takes for a convolution: copies in its layout, and partial gradients.

Its kernels for tensor cores read and write channels last. Operands in torch's usual
order are copied before, and results after; the gradient of the weights is summed in
parts. Which kernel runs, cuDNN decides by rules of its own: the sizes follow what 260
convolutions took on an H200 with torch 2.11, most of them within a few percent.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from shapewright.analysis.memory.device_memory import TENSOR_CORES, Processors
from shapewright.runtime.memory.reduction_scratch import Wave, count_partial_sums

MOST_PARTS = {4: 14, 2: 13}
"""Parts in which the gradient of the weights is summed, at most, by bytes of a number.
A kernel of one element that reads torch's usual order has one for each image."""

TILE = 128
"""Rows and columns of a weight's gradient that a multiprocessor computes at once."""

FEWEST_PIXELS = {4: 1024, 2: 8192}
"""Pixels of the batch that a part has at least, by bytes of an element."""

FEW_IMAGES, SMALL_PART = 2, 64
"""Images in float32 that are read in torch's usual order for the gradient of the
weights, and pixels of a part then, besides one for each channel of the output."""

FEW_CHANNELS = 4
"""Channels of an image that kernels of few elements read as they are."""

MOST_READ = 5
"""Elements of a side of these kernels."""

MOST_COPIED = 1 << 17
"""Pixels of a batch of such images in float32 that are copied for the gradient of the
weights, at most."""

LARGE_PATCH = 8
"""Elements of a side from which patches in half precision are copied before."""


def list_convolution_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> list[Wave]:
    """Return the scratch of a forward pass."""
    x, weight, stride, groups = args[0], args[1], args[3], args[8]
    if not _has_tensor_cores(x, groups, processors):
        return []
    if groups > 1:
        size = _count_groups(x, weight, output, groups)
    elif _is_channels_last(x):
        size = _count_padded(x, weight, output)
    elif _is_pointwise(weight, stride):
        size = 0 if _is_aligned(x) else _count_bytes(x) + _count_bytes(output)
    elif prod(weight.shape[2:]) == 1:
        size = _count_bytes(x) + _count_bytes(output)
    elif _is_image_read(x, weight, stride):
        size = 0
    else:
        size = _pad_channels(x) + _pad_channels(weight) + _count_bytes(output)
    return [Wave([size])] if size else []


def list_backward_scratch(
    args: tuple[Any, ...], output: Any, processors: Processors
) -> list[Wave]:
    """Return the scratch of a backward pass: of the gradients of the input, of the
    weights, and of the bias.
    """
    gradient, x, weight, stride, groups = *args[:3], args[4], args[9]
    wanted = args[10]
    waves: list[Wave] = []
    if _has_tensor_cores(x, groups, processors):
        is_point = prod(weight.shape[2:]) == 1
        sums = weight.numel() * 4  # of gradients, in float32
        parts = _count_parts(gradient, weight, processors) * sums
        if groups > 1:
            sizes = [_count_groups(x, weight, gradient, groups)] * 2
        elif _is_channels_last(x):
            copies = _count_padded(x, weight, gradient)
            sizes = [copies, copies + parts]
        elif _is_pointwise(weight, stride):
            copies = _count_bytes(x) + _count_bytes(gradient)
            parts = min(x.shape[0] * sums, 2 * copies)
            if prod(x.shape[2:]) * x.itemsize % 16:
                parts = copies
            sizes = [0 if _is_aligned(x) else copies, parts]
        elif is_point:
            copies = _count_bytes(x) + _count_bytes(gradient)
            sizes = [copies, copies]
        else:
            copies = _pad_channels(x) + _pad_channels(weight) + _count_bytes(gradient)
            sizes = [copies, copies + parts]
            if prod(gradient.shape[2:]) == 1:
                sizes = [copies, 2 * _count_bytes(x)]
            elif _is_image_read(x, weight, stride) and x.itemsize == 4:
                is_large = prod(gradient.shape) // gradient.shape[1] > MOST_COPIED
                sizes = [copies, 0 if is_large else copies]
            elif x.dim() == 4 and x.itemsize == 4 and x.shape[0] <= FEW_IMAGES:
                pixels = gradient.shape[0] * prod(gradient.shape[2:])
                sizes[1] = (
                    pixels // (SMALL_PART + gradient.shape[1]) * weight.numel() * 4
                )
        waves += [
            Wave([size], place)
            for place, size in enumerate(sizes)
            if size and wanted[place]
        ]
    if wanted[2]:
        dims = [0, *range(2, gradient.dim())]
        count = weight.shape[1] * groups if args[7] else weight.shape[0]
        partial = count_partial_sums(gradient, dims, count, 4, processors)
        waves += [Wave(partial)] if partial else []
    return waves


def _has_tensor_cores(x: torch.Tensor, groups: int, processors: Processors) -> bool:
    """Return whether cuDNN's kernels for tensor cores run."""
    is_allowed = x.itemsize == 2 or (
        x.dtype == torch.float32 and torch.backends.cudnn.allow_tf32
    )
    is_depthwise = groups > 1 and groups == x.shape[1]
    return is_allowed and not is_depthwise and processors.capability >= TENSOR_CORES


def _count_bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.itemsize


def _pad_channels(tensor: torch.Tensor) -> int:
    """Return the bytes with channels in a multiple of 16 bytes, in half precision."""
    channels = tensor.shape[1]
    multiple = 16 // tensor.itemsize if tensor.itemsize == 2 else 1
    return _count_bytes(tensor) // channels * (-(-channels // multiple) * multiple)


def _count_padded(*tensors: torch.Tensor) -> int:
    """Return the bytes of copies of those whose channels fill no 16 bytes."""
    return sum(_pad_channels(t) for t in tensors if t.shape[1] * t.itemsize % 16)


def _count_groups(
    x: torch.Tensor, weight: torch.Tensor, output: torch.Tensor, groups: int
) -> int:
    """Return the bytes of copies in which each group has a power of two of channels."""
    if _is_channels_last(x):
        return 0
    total = 0
    for tensor in (x, output):
        width = tensor.shape[1] // groups
        total += _count_bytes(tensor) // width * _find_power(width)
    inner, outer = weight.shape[1], weight.shape[0] // groups
    widened = _find_power(inner) * _find_power(outer)
    return total + _count_bytes(weight) // (inner * outer) * widened


def _find_power(number: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << max(0, number - 1).bit_length()


def _is_channels_last(x: torch.Tensor) -> bool:
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    return (
        layout is not None
        and x.is_contiguous(memory_format=layout)
        and not x.is_contiguous()
    )


def _is_pointwise(weight: torch.Tensor, stride: list[int]) -> bool:
    return prod(weight.shape[2:]) == 1 and all(step == 1 for step in stride)


def _is_aligned(x: torch.Tensor) -> bool:
    """Return whether rows of pixels begin where a kernel can read several at once."""
    return prod(x.shape[2:]) % 4 == 0


def _is_image_read(x: torch.Tensor, weight: torch.Tensor, stride: list[int]) -> bool:
    """Return whether a kernel reads an image of few channels as it is."""
    if x.shape[1] > FEW_CHANNELS:
        return False
    side = max(weight.shape[2:])
    is_patch = tuple(stride) == tuple(weight.shape[2:])
    return side <= MOST_READ or (is_patch and (x.itemsize == 4 or side < LARGE_PATCH))


def _count_parts(
    gradient: torch.Tensor, weight: torch.Tensor, processors: Processors
) -> int:
    """Return in how many parts the gradient of the weights is summed, 0 for one."""
    rows, columns = weight.shape[0], prod(weight.shape[1:])
    tiles = -(-rows // TILE) * -(-columns // TILE)
    pixels = gradient.shape[0] * prod(gradient.shape[2:])
    least = FEWEST_PIXELS[gradient.itemsize]
    most = MOST_PARTS[gradient.itemsize]
    parts = min(most, processors.count // tiles, pixels // least)
    return parts if parts > 1 else 0
