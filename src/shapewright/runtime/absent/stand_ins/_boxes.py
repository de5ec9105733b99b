"""Boxes (N, 4) as x1, y1, x2, y2: their features, and those that are kept.

How many boxes are kept depends on data: it is what the run assumes of `torch.nonzero`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

EXACT = 16
"""Boxes up to which each is compared with those that are kept before it."""


def align_boxes(
    input: Tensor, rois: Tensor, output_size: tuple[int, int], spatial_scale: float,
    sampling_ratio: int, aligned: bool,
) -> Any:  # fmt: skip
    """input (N, C, H, W), rois (K, 5), the first of each the place in N:
    (K, C, height, width), means of bilinear samples. A ratio of 0, which depends on the
    size of a box, is taken as 2.
    """
    ratio = sampling_ratio if sampling_ratio > 0 else 2
    offset = 0.5 if aligned else 0.0
    boxes = rois[:, 1:] * spatial_scale - offset
    sides = boxes[:, 2:] - boxes[:, :2]
    sides = sides if aligned else sides.clamp(min=1.0)
    places = []
    for axis, count in ((1, output_size[0]), (0, output_size[1])):
        steps = torch.arange(count * ratio, device=input.device) + 0.5
        step = sides[:, axis, None] / (count * ratio)
        places.append(boxes[:, axis, None] + steps.to(boxes.dtype) * step)
    of_box = rois[:, 0].long()
    rows = _spread_weights(places[0], input.shape[2])
    columns = _spread_weights(places[1], input.shape[3])
    samples = torch.einsum("khy,kcyx,kwx->kchw", rows, input[of_box], columns)
    return samples.unflatten(3, (output_size[1], ratio)).mean(4).unflatten(
        2, (output_size[0], ratio)
    ).mean(3)  # fmt: skip


def _spread_weights(places: Tensor, size: int) -> Tensor:
    """places (K, S): the weights (K, S, size) of a linear interpolation."""
    outside = (places < -1) | (places > size)
    places = places.clamp(0, size - 1)
    far = (places[..., None] - torch.arange(size, device=places.device)).abs()
    return (1 - far).clamp(min=0) * ~outside[..., None]


def keep_boxes(
    boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int = 0
) -> Tensor:
    """boxes (N, 4), scores (N,): the places of those that no better one covers."""
    order = scores.detach().argsort(descending=True, stable=True)
    ranked = boxes.detach()[order]
    low = torch.maximum(ranked[:, None, :2], ranked[None, :, :2])
    high = torch.minimum(ranked[:, None, 2:], ranked[None, :, 2:])
    inner = (high - low + offset).clamp(min=0).prod(-1)
    area = (ranked[:, 2:] - ranked[:, :2] + offset).prod(-1)
    covers = inner / (area[:, None] + area[None] - inner) > iou_threshold
    covers = covers.triu(1)
    if len(ranked) > EXACT:
        return order[(~covers.any(0)).nonzero().flatten()]
    kept = torch.ones_like(order, dtype=torch.bool)
    for place in range(len(ranked)):
        kept = kept & ~(covers[place] & kept[place])
    return order[kept.nonzero().flatten()]


def deform(
    x: Tensor, offset: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor | None,
    stride: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int],
    groups: int, deform_groups: int,
) -> Tensor:  # fmt: skip
    """x (B, C, H, W), offset (B, 2 G kh kw, Ho, Wo) as y, x of each place of the
    kernel, mask (B, G kh kw, Ho, Wo): (B, O, Ho, Wo).
    """
    out, inner, high, wide = weight.shape
    batch, channels, height, width = x.shape
    sizes = [
        (side + 2 * pad - spread * (kernel - 1) - 1) // step + 1
        for side, pad, spread, kernel, step in zip(
            (height, width), padding, dilation, (high, wide), stride, strict=True
        )
    ]
    if min(sizes) < 1:
        raise ValueError(
            "convolution input is too small (output would be "
            + "x".join(map(str, (batch, out, *sizes))) + ")"
        )  # fmt: skip
    taps = high * wide
    _require_shape(offset, (batch, 2 * deform_groups * taps, *sizes), "offset")
    moves = offset.view(batch, deform_groups, high, wide, 2, *sizes)
    places = []
    for axis, (step, pad, spread, kernel, size) in enumerate(
        zip(stride, padding, dilation, (high, wide), sizes, strict=True)
    ):
        start = torch.arange(size, device=x.device) * step - pad
        tap = torch.arange(kernel, device=x.device) * spread
        start = start.view(-1, 1) if axis == 0 else start
        tap = tap.view(-1, 1, 1, 1) if axis == 0 else tap.view(-1, 1, 1)
        places.append(moves[..., axis, :, :] + start + tap)
    grid = torch.stack(
        [
            2 * place / max(side - 1, 1) - 1
            for place, side in ((places[1], width), (places[0], height))
        ],
        -1,
    )
    values = x.reshape(batch * deform_groups, channels // deform_groups, height, width)
    flat = grid.reshape(batch * deform_groups, taps * sizes[0], sizes[1], 2)
    samples = torch.nn.functional.grid_sample(
        values, flat.to(x.dtype), align_corners=True
    )
    samples = samples.view(batch, deform_groups, -1, taps, *sizes)
    if mask is not None:
        _require_shape(mask, (batch, deform_groups * taps, *sizes), "mask")
        samples = samples * mask.view(batch, deform_groups, 1, taps, *sizes)
    parts = samples.reshape(batch, groups, inner, taps, *sizes)
    kernels = weight.reshape(groups, out // groups, inner, taps)
    result = torch.einsum("bgcthw,goct->bgohw", parts, kernels).flatten(1, 2)
    return result if bias is None else result + bias.view(-1, 1, 1)


def _require_shape(tensor: Tensor, shape: tuple[int, ...], name: str) -> None:
    if tuple(tensor.shape) != shape:
        raise RuntimeError(
            f"invalid {name} shape, expected {shape}, but got {tuple(tensor.shape)}"
        )
