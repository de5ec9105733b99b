"""Layers of images, boxes, and the launch of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins import detectron2, mmcv, triton
from tests.rehearsing.kernels import Row

X = torch.randn(2, 4, 7, 7)
BOXES = torch.tensor([
    [49.1, 32.4, 51.0, 35.9], [49.3, 32.9, 51.0, 35.3], [49.2, 31.8, 51.0, 35.4],
    [35.1, 11.5, 39.1, 15.7], [35.6, 11.8, 39.3, 14.2], [35.3, 11.5, 39.9, 14.5],
    [35.2, 11.7, 39.7, 15.7],
])  # fmt: skip
SCORES = torch.tensor([0.9, 0.9, 0.5, 0.5, 0.5, 0.4, 0.3])
"""The example of `nms` in mmcv/ops/nms.py, of which three are kept."""
CLASSES = torch.zeros(7, dtype=torch.long)
ROI = torch.tensor([[1.0, 0, 0, 7, 7]])
BN = {"type": "BN"}


def pooled() -> Tensor:
    """A box of the whole image, aligned: means of the cells of a linear ramp."""
    ramp = torch.arange(7.0).expand(2, 4, 7, 7)
    inner = torch.tensor([[0.0, 1, 1, 5, 5]])
    return mmcv.RoIAlign(2, sampling_ratio=2)(ramp, inner)[0, 0, 0]


def deformed(kind: Any, *masks: Tensor) -> Tensor:
    """A deformable convolution without offsets, minus the plain one."""
    layer = kind(4, 6, 3, stride=2, padding=1, groups=2)
    offset = torch.zeros(2, 18, 4, 4)
    plain = F.conv2d(X, layer.weight, None, 2, 1, groups=2)
    return layer(X, offset, *masks) - plain


def kept() -> Tensor:
    """Boxes by their scores, without those that a better one covers."""
    places: list[int] = []
    for place in SCORES.argsort(descending=True, stable=True).tolist():
        a = BOXES[place]
        for other in places:
            b = BOXES[other]
            low, high = torch.maximum(a[:2], b[:2]), torch.minimum(a[2:], b[2:])
            inner = (high - low).clamp(min=0).prod()
            if inner / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - inner) > 0.6:
                break
        else:
            places.append(place)
    return torch.tensor(places)


def frozen() -> Tensor:
    layer = detectron2.FrozenBatchNorm2d(4)
    assert list(layer.parameters()) == []
    return layer(X)


def launched(
    wrap: Callable[[Any], Any], grid: Any, *args: Any, **options: Any
) -> Tensor:
    """What a kernel is passed to write into."""

    def add_kernel(x, out, n, BLOCK: Any):  # type: ignore[no-untyped-def]
        raise AssertionError("a kernel is not run")

    x, out = torch.ones(10), torch.empty(10)
    assert wrap(add_kernel)[grid](x, out, *args, **options) is None
    return out


def tuned(kernel: Any) -> Any:
    configs = [triton.Config({"BLOCK": 4}, num_warps=2), triton.Config({"BLOCK": 8})]
    return triton.autotune(configs=configs, key=["n"])(triton.jit(kernel))


def guessed(kernel: Any) -> Any:
    block = {"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"])}
    return triton.heuristics(block)(triton.jit(kernel))


def count(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


ROWS = {
    "triton.jit": Row(
        lambda: launched(triton.jit, count, 10, BLOCK=4, num_warps=2), (10,), None,
        (lambda: launched(triton.jit, (1,), 10), TypeError, "BLOCK"),
    ),
    "triton.autotune": Row(
        lambda: launched(tuned, count, 10), (10,), None,
        (lambda: launched(tuned, count, 10, BLOCK=4), ValueError, "Conflicting"),
    ),
    "triton.heuristics": Row(
        lambda: launched(guessed, count, 10), (10,), None,
        (lambda: launched(guessed, (1, 1, 1, 1), 10), ValueError, "one to three"),
    ),
    "triton.Config": Row(
        lambda: launched(tuned, (1,), n=10), (10,), None,
        (lambda: launched(tuned, (1,), 10, WARPS=4), KeyError, "unrecognised"),
    ),
    "detectron2.cat": Row(
        lambda: detectron2.cat([X, X], 1), (2, 8, 7, 7), lambda: torch.cat((X, X), 1),
        (lambda: detectron2.cat(X), AssertionError, ""),
    ),
    "detectron2.nonzero_tuple": Row(
        lambda: detectron2.nonzero_tuple(torch.tensor([[0, 1], [1, 1]]))[1], (3,),
        lambda: torch.tensor([1, 0, 1]), None, torch.int64,
    ),
    "detectron2.Conv2d": Row(
        lambda: detectron2.Conv2d(
            4, 6, 3, norm=detectron2.get_norm("BN", 6), activation=F.relu
        )(X), (2, 6, 5, 5), None,
        (lambda: detectron2.Conv2d(3, 6, 3)(X), RuntimeError, "channels"),
    ),
    "detectron2.FrozenBatchNorm2d": Row(frozen, (2, 4, 7, 7), lambda: X),
    "detectron2.get_norm": Row(
        lambda: detectron2.get_norm("GN", 64)(torch.randn(2, 64, 3, 3)), (2, 64, 3, 3),
        None, (lambda: detectron2.get_norm("GN", 48), ValueError, "divisible"),
    ),
    "detectron2.LayerNorm": Row(
        lambda: detectron2.LayerNorm(4)(X), (2, 4, 7, 7),
        lambda: (X - X.mean(1, keepdim=True))
        / (X.var(1, unbiased=False, keepdim=True) + 1e-6).sqrt(),
    ),
    "detectron2.ROIAlign": Row(
        lambda: detectron2.ROIAlign((3, 2), 1.0, 0)(X, ROI), (1, 4, 3, 2), None,
        (lambda: detectron2.ROIAlign(3, 1.0, 0)(X, ROI[:, 1:]), AssertionError, ""),
    ),
    "detectron2.batched_nms": Row(
        lambda: detectron2.batched_nms(BOXES, SCORES, CLASSES, 0.6), (3,),
        kept,
        (lambda: detectron2.batched_nms(BOXES[:, :3], SCORES, CLASSES, 0.6),
         AssertionError, ""), torch.int64,
    ),
    "detectron2.CNNBlockBase": Row(
        lambda: torch.tensor(detectron2.CNNBlockBase(4, 6, 2).stride), (),
        lambda: torch.tensor(2), None, torch.int64,
    ),
    "mmcv.ConvModule": Row(
        lambda: mmcv.ConvModule(4, 6, 3, padding=1, norm_cfg=BN)(X), (2, 6, 7, 7), None,
        (lambda: mmcv.ConvModule(4, 6, 3, order=("conv", "act")), AssertionError, ""),
    ),
    "mmcv.build_norm_layer": Row(
        lambda: mmcv.build_norm_layer(BN, 4, 1)[1](X), (2, 4, 7, 7),
        lambda: nn.BatchNorm2d(4)(X),
        (lambda: mmcv.build_norm_layer({"type": "BatchNorm"}, 4), KeyError, "registry"),
    ),
    "mmcv.build_conv_layer": Row(
        lambda: mmcv.build_conv_layer(None, 4, 6, 3, stride=2)(X), (2, 6, 3, 3), None,
        (lambda: mmcv.build_conv_layer({"kind": "Conv2d"}, 4, 6, 3), KeyError, "type"),
    ),
    "mmcv.build_activation_layer": Row(
        lambda: mmcv.build_activation_layer({"type": "HSwish"})(X), (2, 4, 7, 7),
        lambda: F.hardswish(X),
        (lambda: mmcv.build_activation_layer("ReLU"), TypeError, "dict"),
    ),
    "mmcv.build_padding_layer": Row(
        lambda: mmcv.build_padding_layer({"type": "reflect"}, 2)(X), (2, 4, 11, 11),
        lambda: F.pad(X, (2, 2, 2, 2), mode="reflect"),
        (lambda: mmcv.build_padding_layer({"type": "mirror"}, 2), KeyError, "registry"),
    ),
    "mmcv.DepthwiseSeparableConvModule": Row(
        lambda: mmcv.DepthwiseSeparableConvModule(4, 6, 3, norm_cfg=BN)(X),
        (2, 6, 5, 5), None,
        (lambda: mmcv.DepthwiseSeparableConvModule(4, 6, 3, groups=2), AssertionError,
         "groups"),
    ),
    "mmcv.Scale": Row(lambda: mmcv.Scale(2.0)(X), (2, 4, 7, 7), lambda: 2 * X),
    "mmcv.DeformConv2d": Row(
        lambda: deformed(mmcv.DeformConv2d), (2, 6, 4, 4),
        lambda: torch.zeros(2, 6, 4, 4),
        (lambda: mmcv.DeformConv2d(4, 6, 3, bias=True), AssertionError, "bias"),
    ),
    "mmcv.ModulatedDeformConv2d": Row(
        lambda: deformed(mmcv.ModulatedDeformConv2d, torch.ones(2, 9, 4, 4)),
        (2, 6, 4, 4), lambda: torch.zeros(2, 6, 4, 4),
        (lambda: mmcv.ModulatedDeformConv2d(4, 6, 3)(
            X, torch.zeros(2, 9, 5, 5), torch.zeros(2, 9, 5, 5)
        ), RuntimeError, "offset"),
    ),
    "mmcv.RoIAlign": Row(
        pooled, (2,), lambda: torch.tensor([1.5, 3.5]),
        (lambda: mmcv.RoIAlign(3)(X, ROI[:, 1:]), AssertionError, "RoI must be"),
    ),
    "mmcv.nms": Row(
        lambda: mmcv.nms(BOXES, SCORES, 0.6)[0], (3, 5), None,
        (lambda: mmcv.nms(BOXES, SCORES, 0.6, offset=2), AssertionError, ""),
    ),
    "mmcv.batched_nms": Row(
        lambda: mmcv.batched_nms(
            BOXES, SCORES, CLASSES, {"type": "nms", "iou_threshold": 0.6}
        )[0], (3, 5), lambda: mmcv.nms(BOXES, SCORES, 0.6)[0],
    ),
}  # fmt: skip
