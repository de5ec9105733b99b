"""Lets torchvision 0.28.0 be imported beside the CPU build of torch.

The wheel from the package index links against the CUDA build, so its C extension does
not load, and the Python part then fails while it registers data-free kernels for
operators that do not exist. Defining the schemas of those operators first is enough:
the Python part, which is all that model definitions need, imports as usual. The
operators have no CPU kernel; a model that calls one on real data fails as it would
without the extension.

Lives in the tests only. Import it before torchvision or timm::

    import torchvision_stub
    torchvision_stub.install()
    import timm
"""

from __future__ import annotations

from typing import Any

import torch

SIZES = "int pooled_height, int pooled_width"
SCALED = f"Tensor rois, float spatial_scale, {SIZES}"
BATCH = "int batch_size, int channels, int height, int width"
DEFORM = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
DEFORM_TENSORS = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
BOXES = "Tensor boxes1, Tensor boxes2"

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"qroi_align(Tensor input, {SCALED}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_align(Tensor input, {SCALED}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, {SCALED}) -> (Tensor, Tensor)",
    f"ps_roi_align(Tensor input, {SCALED}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool(Tensor input, {SCALED}) -> (Tensor, Tensor)",
    f"deform_conv2d({DEFORM_TENSORS}, {DEFORM}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {DEFORM_TENSORS}, {DEFORM}) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor)",
    f"_roi_align_backward(Tensor grad, {SCALED}, {BATCH}, int sampling_ratio, "
    "bool aligned) -> Tensor",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, "
    f"{SIZES}, {BATCH}) -> Tensor",
    "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, "
    f"float spatial_scale, {SIZES}, int sampling_ratio, {BATCH}) -> Tensor",
    "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, "
    f"float spatial_scale, {SIZES}, {BATCH}) -> Tensor",
    f"box_iou_rotated({BOXES}) -> Tensor",
)

_libraries: list[Any] = []


def install() -> None:
    """Define the schemas, once. Does nothing where torchvision imports by itself."""
    if _libraries or hasattr(torch.ops.torchvision, "nms"):
        return
    library = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    _libraries.append(library)
