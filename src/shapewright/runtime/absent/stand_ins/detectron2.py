"""detectron2: its layers; models, data and configurations are no part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._boxes import align_boxes, keep_boxes

SOURCE = (
    "signatures of https://detectron2.readthedocs.io/en/latest/modules/layers.html, 0.6"
)
VERSION = "0.6"


@dataclass
class ShapeSpec:
    """The channels, height, width and stride of a tensor."""

    channels: int | None = None
    height: int | None = None
    width: int | None = None
    stride: int | None = None


class Conv2d(nn.Conv2d):
    """`nn.Conv2d`, followed by `norm` and `activation`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        norm, activation = kwargs.pop("norm", None), kwargs.pop("activation", None)
        super().__init__(*args, **kwargs)
        self.norm, self.activation = norm, activation

    def forward(self, x: Tensor) -> Tensor:
        x = super().forward(x)
        x = x if self.norm is None else self.norm(x)
        return x if self.activation is None else self.activation(x)


class FrozenBatchNorm2d(nn.Module):
    """(N, C, H, W): the same shape, by fixed statistics, which are buffers."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.register_buffer("weight", torch.ones(num_features))
        self.register_buffer("bias", torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features) - eps)
        self.register_buffer("num_batches_tracked", None)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        bias = self.bias - self.running_mean * scale
        scale, bias = (part.view(1, -1, 1, 1).to(x.dtype) for part in (scale, bias))
        return x * scale + bias

    @classmethod
    def convert_frozen_batchnorm(cls, module: nn.Module) -> nn.Module:
        """Return a module whose batch norms are frozen."""
        if isinstance(module, nn.BatchNorm2d | nn.SyncBatchNorm):
            frozen = cls(module.num_features, module.eps)
            if module.affine:
                frozen.weight.data = module.weight.data.clone().detach()
                frozen.bias.data = module.bias.data.clone().detach()
            assert module.running_mean is not None
            assert module.running_var is not None
            frozen.running_mean.data = module.running_mean.data
            frozen.running_var.data = module.running_var.data
            return frozen
        for name, child in module.named_children():
            changed = cls.convert_frozen_batchnorm(child)
            if changed is not child:
                module.add_module(name, changed)
        return module


class LayerNorm(nn.Module):
    """(N, C, H, W): the same shape, by the mean and variance over C."""

    def __init__(self, normalized_shape: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(normalized_shape))
        self.bias = nn.Parameter(torch.zeros(normalized_shape))
        self.eps, self.normalized_shape = eps, (normalized_shape,)

    def forward(self, x: Tensor) -> Tensor:
        out = F.layer_norm(
            x.movedim(1, -1), self.normalized_shape, self.weight, self.bias, self.eps
        )
        return out.movedim(-1, 1)


def get_norm(norm: Any, out_channels: int) -> Any:
    """Return a norm by its name: BN, SyncBN, FrozenBN, GN, LN and others."""
    if norm is None or norm == "":
        return None
    if isinstance(norm, str):
        norm = {
            "BN": nn.BatchNorm2d, "SyncBN": nn.SyncBatchNorm,
            "FrozenBN": FrozenBatchNorm2d,
            "GN": lambda channels: nn.GroupNorm(32, channels),
            "nnSyncBN": nn.SyncBatchNorm, "naiveSyncBN": nn.SyncBatchNorm,
            "naiveSyncBN_N": nn.SyncBatchNorm, "LN": LayerNorm,
        }[norm]  # fmt: skip
    return norm(out_channels)


def cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Join tensors; one alone is itself."""
    assert isinstance(tensors, list | tuple)
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors, dim)


def nonzero_tuple(x: Tensor) -> tuple[Tensor, ...]:
    """Return the places of what is not zero, for each dim."""
    return x.unsqueeze(0).nonzero().unbind(1) if x.dim() == 0 else x.nonzero().unbind(1)


def batched_nms(
    boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float
) -> Tensor:
    """boxes (N, 4), scores and idxs (N,): the places of those kept in each class."""
    assert boxes.shape[-1] == 4
    far = idxs.to(boxes) * (boxes.max() + 1)
    return keep_boxes(boxes.float() + far[:, None], scores, iou_threshold)


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """boxes (N, 4), scores (N,): the places of those that are kept."""
    return keep_boxes(boxes, scores, iou_threshold)


class ROIAlign(nn.Module):
    """input (N, C, H, W), rois (K, 5): (K, C, *output_size)."""

    def __init__(
        self, output_size: Any, spatial_scale: float, sampling_ratio: int,
        aligned: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Tensor, rois: Tensor) -> Any:
        assert rois.dim() == 2
        assert rois.size(1) == 5
        size = self.output_size
        size = (size, size) if isinstance(size, int) else tuple(size)
        return align_boxes(
            input, rois.to(input.dtype), size, self.spatial_scale, self.sampling_ratio,
            self.aligned,
        )  # fmt: skip


class CNNBlockBase(nn.Module):
    """A block with channels and a stride."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.stride = stride

    def freeze(self) -> CNNBlockBase:
        """Freeze its parameters and batch norms."""
        for parameter in self.parameters():
            parameter.requires_grad = False
        FrozenBatchNorm2d.convert_frozen_batchnorm(self)
        return self


_LAYERS: dict[str, Any] = {
    "ShapeSpec": ShapeSpec, "Conv2d": Conv2d, "FrozenBatchNorm2d": FrozenBatchNorm2d,
    "get_norm": get_norm, "cat": cat, "nonzero_tuple": nonzero_tuple, "nms": nms,
    "batched_nms": batched_nms, "ROIAlign": ROIAlign, "CNNBlockBase": CNNBlockBase,
    "NaiveSyncBatchNorm": nn.SyncBatchNorm, "BatchNorm2d": nn.BatchNorm2d,
    "ConvTranspose2d": nn.ConvTranspose2d, "Linear": nn.Linear,
    "interpolate": F.interpolate, "cross_entropy": F.cross_entropy,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "layers": _LAYERS, "layers.shape_spec": {"ShapeSpec": ShapeSpec},
    "layers.wrappers": {"Conv2d": Conv2d, "cat": cat},
    "layers.batch_norm": {
        "FrozenBatchNorm2d": FrozenBatchNorm2d, "get_norm": get_norm,
        "LayerNorm": LayerNorm,
    },
    "layers.roi_align": {"ROIAlign": ROIAlign},
    "layers.blocks": {"CNNBlockBase": CNNBlockBase},
}  # fmt: skip
