"""Torch's errors for convolutions that do not fit, and the kernel that raises them.

Mirrors `check_shape_forward` and `ConvParams::use_mkldnn` in
`aten/src/ATen/native/Convolution.cpp`.
"""

from __future__ import annotations

from math import prod

from shapewright.operators.metadata_rules import (
    C_TYPE,
    SCALAR_TYPE,
    Meta,
    Misfit,
    listed,
)

Shape = tuple[int, ...]

_AXES = ("depth", "height", "width")

NEVER_ONEDNN = frozenset({"float64", "int64", "int32", "int16", "int8", "uint8"})


def by_onednn(input: Meta, weight: Meta, groups: int) -> bool | None:
    """Return whether torch calls oneDNN (`ConvParams::use_mkldnn`).

    None if that depends on the machine: its threads, its support of half precision.
    """
    if input.dtype in NEVER_ONEDNN:
        return False
    shape, kernel = input.shape, weight.shape
    pointwise = kernel[-1] == 1 and kernel[-2] == 1
    if input.dtype != "float32" or (pointwise and shape[0] < 16):
        return None
    if groups > 1 or shape[0] > 1 or (kernel[-1] > 3 and kernel[-2] > 3):
        return True
    return prod((*shape, 1)[:4]) > 20480


def check_batch(shape: Shape, dims: int, name: str) -> None:
    if len(shape) not in (dims + 1, dims + 2):
        raise Misfit(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
            f"{name}, but got input of size: {listed(shape)}"
        )


def check_arguments(
    weight: Meta,
    stride: Shape,
    padding: Shape,
    output_padding: Shape | None,
    dilation: Shape,
    groups: int,
) -> None:
    spatial = len(weight.shape) - 2
    if spatial <= 0:
        raise Misfit("weight should have at least three dimensions")
    if groups <= 0:
        raise Misfit("non-positive groups is not supported")
    named = (
        ("stride", stride),
        ("padding", padding),
        ("dilation", dilation),
        ("output_padding", output_padding),
    )
    for name, value in named:
        if value is not None and len(value) != spatial:
            raise Misfit(
                f"expected {name} to be a single integer value or a list of {spatial} "
                f"values to match the convolution dimensions, but got "
                f"{name}={listed(value)}"
            )
    if min(padding) < 0:
        raise Misfit("negative padding is not supported")
    if output_padding is not None and min(output_padding) < 0:
        raise Misfit("negative output_padding is not supported")
    if min(stride) <= 0:
        raise Misfit("non-positive stride is not supported")


def check_shapes(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    padding: Shape,
    dilation: Shape,
    groups: int,
    transposed: bool,
) -> None:
    shape, kernel = input.shape, weight.shape
    if len(shape) != len(kernel):
        raise Misfit(
            f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional "
            f"weight {listed(kernel)}, but got {len(shape)}-dimensional input of size "
            f"{listed(shape)} instead"
        )
    if kernel[0] < groups:
        raise Misfit(
            f"Given groups={groups}, expected weight to be at least {groups} at "
            f"dimension 0, but got weight of size {listed(kernel)} instead"
        )
    if kernel[0] % groups:
        raise Misfit(
            f"Given groups={groups}, expected weight to be divisible by {groups} at "
            f"dimension 0, but got weight of size [{listed(kernel)}] instead"
        )
    channels = kernel[0] if transposed else kernel[1] * groups
    setting = f"transposed={1}" if transposed else f"groups={groups}"
    if shape[1] != channels:
        raise Misfit(
            f"Given {setting}, weight of size {listed(kernel)}, expected input"
            f"{listed(shape)} to have {channels} channels, but got {shape[1]} channels "
            "instead"
        )
    out = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and bias.shape != (out,):
        setting = "transposed=1, " if transposed else ""
        raise Misfit(
            f"Given {setting}weight of size {listed(kernel)}, expected bias to be "
            f"1-dimensional with {out} elements, but got bias of size "
            f"{listed(bias.shape)} instead"
        )
    if not transposed:
        _check_room(shape, kernel, padding, dilation)


def _check_room(shape: Shape, kernel: Shape, padding: Shape, dilation: Shape) -> None:
    have = [size + 2 * pad for size, pad in zip(shape[2:], padding, strict=True)]
    want = [
        reach * (width - 1) + 1
        for width, reach in zip(kernel[2:], dilation, strict=True)
    ]
    if any(a < b for a, b in zip(have, want, strict=True)):
        raise Misfit(
            f"Calculated padded input size per channel: ({' x '.join(map(str, have))})."
            f" Kernel size: ({' x '.join(map(str, want))}). Kernel size can't be "
            "greater than actual input size"
        )


def check_bias_dtype(input: Meta, bias: Meta | None) -> None:
    if bias is not None and bias.dtype != input.dtype:
        raise Misfit(
            f"Input type ({C_TYPE[input.dtype]}) and bias type "
            f"({C_TYPE.get(bias.dtype, bias.dtype)}) should be the same"
        )


def check_dtypes(input: Meta, weight: Meta, groups: int) -> None:
    input_dtype, weight_dtype = input.dtype, weight.dtype
    fused = by_onednn(input, weight, groups)
    if fused is None:
        return
    if input_dtype != weight_dtype:
        if fused:
            raise Misfit(
                f"Input type ({_type_name(input_dtype)}) and weight type"
                f" ({_type_name(weight_dtype)}) "
                "should be the same or input should be a MKLDNN tensor and weight is a "
                "dense tensor"
            )
        raise Misfit(
            f"expected scalar type {SCALAR_TYPE[input_dtype]} but found"
            f" {SCALAR_TYPE[weight_dtype]}"
        )


def _type_name(dtype: str) -> str:
    name = SCALAR_TYPE[dtype]
    plain = ("Float", "Double", "Long", "Int", "Short", "Char", "Byte")
    return f"torch.{name}Tensor" if name in plain else f"CPU{name}Type"


def check_output_padding(extra: Shape, stride: Shape, dilation: Shape) -> None:
    for more, step, reach in zip(extra, stride, dilation, strict=True):
        if more >= step and more >= reach:
            raise Misfit(_output_padding_text(extra, stride, dilation))


def _output_padding_text(extra: Shape, stride: Shape, dilation: Shape) -> str:
    axes = _AXES[-max(len(stride), 2) :]
    rows = (("output_padding", extra), ("stride", stride), ("dilation", dilation))
    words = [
        f"{name}_{axis}: {value}"
        for name, values in rows
        for axis, value in zip(axes, _as_2d(name, values), strict=True)
    ]
    return (
        "output padding must be smaller than either stride or dilation, but got "
        + " ".join(words)
    )


def _as_2d(name: str, values: Shape) -> Shape:
    if len(values) > 1:
        return values
    return (0 if name == "output_padding" else 1, *values)
