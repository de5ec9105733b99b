"""mmcv: bricks of convolutional networks by configurations, and operators on boxes."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._boxes import (
    align_boxes,
    deform,
    keep_boxes,
)

SOURCE = "signatures of https://mmcv.readthedocs.io/en/latest, 2.2"
VERSION = "2.2.0"
Config = dict[str, Any]
_NORMS: Config = {
    "BN": nn.BatchNorm2d, "BN1d": nn.BatchNorm1d, "BN2d": nn.BatchNorm2d,
    "BN3d": nn.BatchNorm3d, "SyncBN": nn.SyncBatchNorm, "GN": nn.GroupNorm,
    "LN": nn.LayerNorm, "IN": nn.InstanceNorm2d, "IN1d": nn.InstanceNorm1d,
    "IN2d": nn.InstanceNorm2d, "IN3d": nn.InstanceNorm3d,
}  # fmt: skip
_CONVOLUTIONS: Config = {
    "Conv1d": nn.Conv1d, "Conv2d": nn.Conv2d, "Conv3d": nn.Conv3d, "Conv": nn.Conv2d,
    "deconv": nn.ConvTranspose2d, "deconv3d": nn.ConvTranspose3d,
}  # fmt: skip
_ACTIVATIONS: Config = {
    **{name: getattr(nn, name) for name in (
        "ReLU", "LeakyReLU", "PReLU", "RReLU", "ReLU6", "ELU", "Sigmoid", "Tanh",
        "SiLU", "GELU",
    )},
    "HSwish": nn.Hardswish, "HSigmoid": nn.Hardsigmoid, "Swish": nn.SiLU,
}  # fmt: skip
_PADDINGS: Config = {
    "zero": nn.ZeroPad2d, "reflect": nn.ReflectionPad2d,
    "replicate": nn.ReplicationPad2d,
}  # fmt: skip
WITHOUT_INPLACE = ("Tanh", "PReLU", "Sigmoid", "HSigmoid", "Swish", "GELU")
ABBREVIATIONS = (
    (nn.modules.instancenorm._InstanceNorm, "in"),
    (nn.modules.batchnorm._BatchNorm, "bn"), (nn.GroupNorm, "gn"), (nn.LayerNorm, "ln"),
)  # fmt: skip


def _take_kind(cfg: Any, kinds: Config, what: str) -> tuple[Any, Config]:
    """Return the class that a configuration names, and its arguments."""
    if not isinstance(cfg, dict):
        raise TypeError("cfg must be a dict")
    if "type" not in cfg:
        raise KeyError('the cfg dict must contain the key "type"')
    rest = dict(cfg)
    kind = rest.pop("type")
    if inspect.isclass(kind):
        return kind, rest
    if kind not in kinds:
        raise KeyError(f"Cannot find {kind} in registry under scope name {what}")
    return kinds[kind], rest


def build_norm_layer(
    cfg: Config, num_features: int, postfix: int | str = ""
) -> tuple[str, nn.Module]:
    """Return the name of a norm, such as bn1, and the norm."""
    kind, rest = _take_kind(cfg, _NORMS, "model")
    requires_grad = rest.pop("requires_grad", True)
    rest.setdefault("eps", 1e-5)
    if kind is nn.GroupNorm:
        assert "num_groups" in rest
        layer = kind(num_channels=num_features, **rest)
    else:
        layer = kind(num_features, **rest)
    for parameter in layer.parameters():
        parameter.requires_grad = requires_grad
    short = next(
        (name for base, name in ABBREVIATIONS if issubclass(kind, base)), "norm_layer"
    )
    return f"{short}{postfix}", layer


def build_conv_layer(cfg: Config | None, *args: Any, **kwargs: Any) -> Any:
    """Return a convolution; of no configuration, `nn.Conv2d`."""
    kind, rest = _take_kind(
        {"type": "Conv2d"} if cfg is None else cfg, _CONVOLUTIONS, "model"
    )
    return kind(*args, **kwargs, **rest)


def build_activation_layer(cfg: Config) -> Any:
    """Return an activation."""
    kind, rest = _take_kind(cfg, _ACTIVATIONS, "model")
    if "inplace" not in inspect.signature(kind).parameters:
        rest.pop("inplace", None) if kind is nn.SiLU else None
    return kind(**rest)


def build_padding_layer(cfg: Config, *args: Any, **kwargs: Any) -> Any:
    """Return a padding."""
    kind, rest = _take_kind(cfg, _PADDINGS, "model")
    return kind(*args, **kwargs, **rest)


class ConvModule(nn.Module):
    """A convolution, a norm and an activation, in some order."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool | str = "auto",
        conv_cfg: Config | None = None, norm_cfg: Config | None = None,
        act_cfg: Config | None = {"type": "ReLU"},  # noqa: B006
        inplace: bool = True, with_spectral_norm: bool = False,
        padding_mode: str = "zeros", order: tuple[str, ...] = ("conv", "norm", "act"),
        efficient_conv_bn_eval: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        for cfg in (conv_cfg, norm_cfg, act_cfg):
            assert cfg is None or isinstance(cfg, dict)
        assert isinstance(order, tuple)
        assert len(order) == 3
        assert set(order) == {"conv", "norm", "act"}
        self.order, self.norm_name = order, None
        self.with_norm, self.with_activation = norm_cfg is not None, act_cfg is not None
        self.with_bias = not self.with_norm if bias == "auto" else bool(bias)
        self.with_explicit_padding = padding_mode not in ("zeros", "circular")
        if self.with_explicit_padding:
            self.padding_layer = build_padding_layer({"type": padding_mode}, padding)
        conv: Any = build_conv_layer(
            conv_cfg, in_channels, out_channels, kernel_size, stride=stride,
            padding=0 if self.with_explicit_padding else padding, dilation=dilation,
            groups=groups, bias=self.with_bias,
        )  # fmt: skip
        self.in_channels, self.out_channels = conv.in_channels, conv.out_channels
        self.kernel_size, self.stride, self.groups = (
            conv.kernel_size, conv.stride, conv.groups,
        )  # fmt: skip
        self.padding, self.dilation = padding, conv.dilation
        self.conv = nn.utils.spectral_norm(conv) if with_spectral_norm else conv
        if norm_cfg is not None:
            after = order.index("norm") > order.index("conv")
            channels = out_channels if after else in_channels
            name, norm = build_norm_layer(norm_cfg, channels)
            self.norm_name = name
            self.add_module(name, norm)
        if act_cfg is not None:
            act_cfg = dict(act_cfg)
            if act_cfg["type"] not in WITHOUT_INPLACE:
                act_cfg.setdefault("inplace", inplace)
            self.activate = build_activation_layer(act_cfg)

    @property
    def norm(self) -> Any:
        """The norm, or None."""
        return getattr(self, self.norm_name) if self.norm_name else None

    def forward(self, x: Tensor, activate: bool = True, norm: bool = True) -> Tensor:
        for step in self.order:
            if step == "conv":
                x = self.padding_layer(x) if self.with_explicit_padding else x
                x = self.conv(x)
            elif step == "norm" and norm and self.with_norm:
                x = self.norm(x)
            elif step == "act" and activate and self.with_activation:
                x = self.activate(x)
        return x


class DepthwiseSeparableConvModule(nn.Module):
    """A convolution of each channel, and one of 1 x 1."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, norm_cfg: Config | None = None,
        act_cfg: Config = {"type": "ReLU"},  # noqa: B006
        dw_norm_cfg: Any = "default", dw_act_cfg: Any = "default",
        pw_norm_cfg: Any = "default", pw_act_cfg: Any = "default", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        assert "groups" not in kwargs, "groups should not be specified"

        def choose(own: Any, common: Any) -> Any:
            return own if own != "default" else common

        self.depthwise_conv = ConvModule(
            in_channels, in_channels, kernel_size, stride, padding, dilation,
            in_channels, norm_cfg=choose(dw_norm_cfg, norm_cfg),
            act_cfg=choose(dw_act_cfg, act_cfg), **kwargs,
        )  # fmt: skip
        self.pointwise_conv = ConvModule(
            in_channels, out_channels, 1, norm_cfg=choose(pw_norm_cfg, norm_cfg),
            act_cfg=choose(pw_act_cfg, act_cfg), **kwargs,
        )  # fmt: skip

    def forward(self, x: Tensor) -> Any:
        return self.pointwise_conv(self.depthwise_conv(x))


class Scale(nn.Module):
    """A learned factor."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale, dtype=torch.float))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


class DeformConv2d(nn.Module):
    """x (B, C, H, W), offset (B, 2 G kh kw, Ho, Wo): (B, O, Ho, Wo)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, deform_groups: int = 1,
        bias: bool = False, im2col_step: int = 32,
    ) -> None:  # fmt: skip
        super().__init__()
        assert not bias, f"bias={bias} is not supported in DeformConv2d."
        assert in_channels % groups == 0, (
            f"in_channels {in_channels} cannot be divisible by groups {groups}"
        )
        assert out_channels % groups == 0, (
            f"out_channels {out_channels} cannot be divisible by groups {groups}"
        )
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        self.groups, self.deform_groups = groups, deform_groups
        self.im2col_step = im2col_step
        self.weight = nn.Parameter(
            torch.empty(out_channels, in_channels // groups, *self.kernel_size)
        )
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu")

    def forward(self, x: Tensor, offset: Tensor) -> Tensor:
        if x.dim() != 4:
            raise ValueError(f"Expected 4D tensor as input, got {x.dim()}D tensor")
        assert len(x) % min(self.im2col_step, len(x)) == 0, (
            "batch size must be divisible by im2col_step"
        )
        return deform(
            x, offset, self.weight, None, None, self.stride, self.padding,
            self.dilation, self.groups, self.deform_groups,
        )  # fmt: skip


class ModulatedDeformConv2d(nn.Module):
    """x (B, C, H, W), offset (B, 2 G kh kw, Ho, Wo), mask (B, G kh kw, Ho, Wo):
    (B, O, Ho, Wo).
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, deform_groups: int = 1,
        bias: bool | str = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        self.groups, self.deform_groups = groups, deform_groups
        self.weight = nn.Parameter(
            torch.empty(out_channels, in_channels // groups, *self.kernel_size)
        )
        nn.init.kaiming_uniform_(self.weight)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, x: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
        if x.dim() != 4:
            raise ValueError(f"Expected 4D tensor as input, got {x.dim()}D tensor")
        return deform(
            x, offset, self.weight, self.bias, mask, self.stride, self.padding,
            self.dilation, self.groups, self.deform_groups,
        )  # fmt: skip


def roi_align(
    input: Tensor, rois: Tensor, output_size: Any, spatial_scale: float = 1.0,
    sampling_ratio: int = 0, pool_mode: str = "avg", aligned: bool = True,
) -> Any:  # fmt: skip
    """input (N, C, H, W), rois (K, 5): (K, C, *output_size)."""
    assert pool_mode in ("max", "avg")
    assert rois.size(1) == 5, "RoI must be (idx, x1, y1, x2, y2)!"
    return align_boxes(
        input, rois, _pair(output_size), spatial_scale, sampling_ratio, aligned
    )


class RoIAlign(nn.Module):
    """As `roi_align`."""

    def __init__(
        self, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = 0,
        pool_mode: str = "avg", aligned: bool = True, use_torchvision: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.options = (output_size, spatial_scale, sampling_ratio, pool_mode, aligned)

    def forward(self, input: Tensor, rois: Tensor) -> Any:
        return roi_align(input, rois, *self.options)


def nms(
    boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int = 0,
    score_threshold: float = 0, max_num: int = -1,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """boxes (N, 4), scores (N,): those kept (K, 5) with their scores, and their
    places (K,).
    """
    assert isinstance(boxes, Tensor)
    assert boxes.size(1) == 4
    assert boxes.size(0) == scores.size(0)
    assert offset in (0, 1)
    kept = keep_boxes(boxes, scores, iou_threshold, offset)
    if score_threshold > 0:
        kept = kept[scores[kept] > score_threshold]
    kept = kept[:max_num] if max_num > 0 else kept
    return torch.cat((boxes[kept], scores[kept].reshape(-1, 1)), 1), kept


def batched_nms(
    boxes: Tensor, scores: Tensor, idxs: Tensor, nms_cfg: Config | None,
    class_agnostic: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """boxes (N, 4), scores and idxs (N,): those kept in each class, as `nms`."""
    if nms_cfg is None:
        scores, places = scores.sort(descending=True)
        return torch.cat((boxes[places], scores[:, None]), -1), places
    options = {k: v for k, v in nms_cfg.items() if k not in ("type", "split_thr")}
    apart = boxes
    if not options.pop("class_agnostic", class_agnostic):
        apart = boxes + (idxs.to(boxes) * (boxes.max() + 1))[:, None]
    kept, places = nms(apart, scores, **options)
    return torch.cat((boxes[places], kept[:, -1:]), -1), places


_CNN = {
    function.__name__: function
    for function in (
        ConvModule, DepthwiseSeparableConvModule, Scale, build_norm_layer,
        build_conv_layer, build_activation_layer, build_padding_layer,
    )
}  # fmt: skip
_OPS = {
    "DeformConv2d": DeformConv2d, "ModulatedDeformConv2d": ModulatedDeformConv2d,
    "roi_align": roi_align, "RoIAlign": RoIAlign, "nms": nms,
    "batched_nms": batched_nms,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "cnn": _CNN, "cnn.bricks": _CNN, "ops": _OPS,
}  # fmt: skip
