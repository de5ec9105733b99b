"""Pooling over windows and to a given size, and interpolation.

Mirrors `aten/src/ATen/native/Pool.h`. 2-d pools and interpolation keep the memory
format that the input hints; average and adaptive pools in 3-d answer contiguous.
"""

from __future__ import annotations

from math import floor
from typing import Any

from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule
from shapewright.rules.strides import channels_last, contiguous, suggested_format

Shape = tuple[int, ...]

_AVERAGED = FLOATING | {"int64"}
_AVERAGED_3D = frozenset({"float32", "float64", "int64"})
_INTEGERS = frozenset({"int64", "int32", "int16", "int8", "uint8"})


def _each(value: Any, dims: int) -> Any:
    """One number a dim; None where torch would not take it."""
    if type(value) is int:
        return (value,) * dims
    value = tuple(value)
    if len(value) == dims:
        return value
    return value * dims if len(value) == 1 else None


def _windows(
    size: int, kernel: int, pad: int, step: int, reach: int, ceil_mode: bool
) -> int:
    """How many windows fit: a last one, in ceil mode, must begin inside."""
    room = size + 2 * pad - reach * (kernel - 1) - 1
    if not ceil_mode:
        return room // step + 1
    count = (room + step - 1) // step + 1
    return count - 1 if (count - 1) * step >= size + pad else count


def _hinted(made: Shape, input: Meta) -> Shape | None:
    if len(made) < 4 or len(made) != len(input.shape):
        return None
    if suggested_format(input.shape, input.stride) == "contiguous_format":
        return None
    return channels_last(made)


def _pooled(
    input: Meta,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    dims: int,
) -> Any:
    """The output's shape, or NotImplemented where something is unusual."""
    shape = input.shape
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape:
        return NotImplemented
    kernel = _each(kernel_size, dims)
    if stride is None or stride == [] or stride == ():
        stride = kernel
    step, pad, reach = _each(stride, dims), _each(padding, dims), _each(dilation, dims)
    if kernel is None or step is None or pad is None or reach is None:
        return NotImplemented
    if min(kernel) < 1 or min(step) < 1 or min(pad) < 0 or min(reach) < 1:
        return NotImplemented
    sizes = tuple(
        _windows(*each, ceil_mode)
        for each in zip(shape[-dims:], kernel, pad, step, reach, strict=True)
    )
    _check_padding(pad, kernel, reach, dims)
    if min(sizes) < 1:
        raise _too_small(shape, sizes, dims)
    return (*shape[:-dims], *sizes)


def _check_padding(pad: Shape, kernel: Shape, reach: Shape, dims: int) -> None:
    for size, width, far in zip(pad, kernel, reach, strict=True):
        if size > ((width - 1) * far + 1) // 2:
            if dims == 3:
                raise _Unusual
            raise Misfit(
                "pad should be at most half of effective kernel size, but got "
                f"pad={size}, kernel_size={width} and dilation={far}"
            )


class _Unusual(Exception):
    """Torch's words for this misfit are not known here."""


def _too_small(shape: Shape, sizes: Shape, dims: int) -> Misfit:
    planes = shape[-dims - 1]
    given = "x".join(map(str, (planes, *shape[-dims:])))
    made = "x".join(map(str, (planes, *sizes)))
    return Misfit(
        f"Given input size: ({given}). Calculated output size: ({made}). "
        "Output size is too small"
    )


def _max_pool(
    input: Meta,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
    dims: int,
) -> Any:
    dtype = input.dtype
    if dtype not in FLOATING and dtype not in _INTEGERS:
        return NotImplemented
    try:
        shape = _pooled(input, kernel_size, stride, padding, dilation, ceil_mode, dims)
    except _Unusual:
        return NotImplemented
    if shape is NotImplemented:
        return shape
    hinted = _hinted(shape, input)
    grad_fn = f"MaxPool{dims}DWithIndicesBackward0"
    made = Made(shape, dtype, hinted, grad_fn)
    return (made, Made(shape, "int64", hinted, "")) if return_indices else made


def _max_pool2d(
    input: Meta,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`(8, 6, 28, 28)` in windows of 2 gives (8, 6, 14, 14)."""
    return _max_pool(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 2
    )


def _max_pool3d(
    input: Meta,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if len(input.shape) == 4 and (
        suggested_format(input.shape, input.stride) != "contiguous_format"
        or input.stride != contiguous(input.shape)
    ):
        return NotImplemented
    return _max_pool(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 3
    )


def _max_pool1d(
    input: Meta,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`(8, 6, 28)` in windows of 2 gives (8, 6, 14)."""
    dtype = input.dtype
    if dtype not in FLOATING or input.stride != contiguous(input.shape):
        return NotImplemented
    try:
        made = _pooled(input, kernel_size, stride, padding, dilation, ceil_mode, 1)
    except (Misfit, _Unusual):
        return NotImplemented
    if made is NotImplemented:
        return made
    out = Made(made, dtype, None, "SqueezeBackward1")
    return (out, Made(made, "int64", None, "")) if return_indices else out


for _dims, _function in ((1, _max_pool1d), (2, _max_pool2d), (3, _max_pool3d)):
    _name = f"max_pool{_dims}d"
    rule(f"torch.{_name}", f"torch.nn.functional.{_name}")(_function)


def _returning_indices(pool: Any) -> Any:
    def with_indices(
        input: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    return with_indices


for _dims, _function in ((1, _max_pool1d), (2, _max_pool2d), (3, _max_pool3d)):
    rule(f"torch.nn.functional.max_pool{_dims}d_with_indices")(
        _returning_indices(_function)
    )


def _avg_pool(
    input: Meta, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, dims: int
) -> Any:
    dtype = input.dtype
    if dtype not in (_AVERAGED_3D if dims == 3 else _AVERAGED):
        return NotImplemented
    try:
        shape = _pooled(input, kernel_size, stride, padding, 1, ceil_mode, dims)
    except _Unusual:
        return NotImplemented
    if shape is NotImplemented:
        return shape
    hinted = _hinted(shape, input) if dims == 2 else None
    return Made(shape, dtype, hinted, f"AvgPool{dims}DBackward0")


@rule("torch.nn.functional.avg_pool2d", "torch._C._nn.avg_pool2d")
def avg_pool2d(
    input: Meta,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """`(8, 6, 28, 28)` in windows of 2 gives (8, 6, 14, 14)."""
    if divisor_override == 0:
        return NotImplemented
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, 2)


@rule("torch.nn.functional.avg_pool3d", "torch._C._nn.avg_pool3d")
def avg_pool3d(
    input: Meta,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """`(8, 6, 8, 28, 28)` in windows of 2 gives (8, 6, 4, 14, 14)."""
    kernel = _each(kernel_size, 3)
    if divisor_override == 0 or kernel is None or len(input.shape) not in (4, 5):
        return NotImplemented
    if any(a < b for a, b in zip(input.shape[-3:], kernel, strict=True)):
        return NotImplemented
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, 3)


@rule("torch.avg_pool1d", "torch.nn.functional.avg_pool1d")
def avg_pool1d(
    input: Meta,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """`(8, 6, 28)` in windows of 2 gives (8, 6, 14)."""
    if input.dtype not in FLOATING or input.stride != contiguous(input.shape):
        return NotImplemented
    try:
        shape = _pooled(input, kernel_size, stride, padding, 1, ceil_mode, 1)
    except (Misfit, _Unusual):
        return NotImplemented
    if shape is NotImplemented:
        return shape
    return Made(shape, input.dtype, None, "SqueezeBackward1")


def _target(input: Meta, output_size: Any, dims: int) -> Any:
    """The output's shape; a size of None keeps the input's."""
    shape = input.shape
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape:
        return NotImplemented
    sizes = (output_size,) * dims if type(output_size) is int else tuple(output_size)
    if len(sizes) != dims:
        return NotImplemented
    have = shape[-dims:]
    sizes = tuple(b if a is None else a for a, b in zip(sizes, have, strict=True))
    if min(sizes) < 1:
        return NotImplemented
    return (*shape[:-dims], *sizes)


@rule("torch.nn.functional.adaptive_avg_pool2d", "torch._C._nn.adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Meta, output_size: Any) -> Any:
    """`(8, 512, 7, 7)` to size 1 gives (8, 512, 1, 1), by a mean."""
    shape = _target(input, output_size, 2)
    if shape is NotImplemented or input.dtype not in FLOATING:
        return NotImplemented
    hinted = _hinted(shape, input)
    if shape[-2:] != (1, 1):
        return Made(shape, input.dtype, hinted, "AdaptiveAvgPool2DBackward0")
    if hinted is not None:
        return Made(shape, input.dtype, hinted, "AsStridedBackward1")
    if input.stride != contiguous(input.shape):
        return NotImplemented
    return Made(shape, input.dtype, None, "MeanBackward1")


@rule("torch.nn.functional.adaptive_avg_pool3d", "torch._C._nn.adaptive_avg_pool3d")
def adaptive_avg_pool3d(input: Meta, output_size: Any) -> Any:
    """`(8, 512, 2, 7, 7)` to size 1 gives (8, 512, 1, 1, 1), by a mean."""
    shape = _target(input, output_size, 3)
    if shape is NotImplemented or input.dtype not in ("float32", "float64"):
        return NotImplemented
    if shape[-3:] != (1, 1, 1):
        return Made(shape, input.dtype, None, "AdaptiveAvgPool3DBackward0")
    if input.stride != contiguous(input.shape) or (
        suggested_format(input.shape, input.stride) != "contiguous_format"
    ):
        return NotImplemented
    return Made(shape, input.dtype, None, "MeanBackward1")


@rule("torch.adaptive_avg_pool1d", "torch.nn.functional.adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Meta, output_size: Any) -> Any:
    """`(8, 512, 7)` to size 1 gives (8, 512, 1)."""
    if input.stride != contiguous(input.shape):
        return NotImplemented
    shape = _target(input, output_size, 1)
    if shape is NotImplemented or input.dtype not in FLOATING:
        return NotImplemented
    return Made(shape, input.dtype, None, "SqueezeBackward1")


def _adaptive_max_pool(
    input: Meta, output_size: Any, return_indices: bool, dims: int
) -> Any:
    shape = _target(input, output_size, dims)
    if shape is NotImplemented or input.dtype not in FLOATING:
        return NotImplemented
    if dims == 1 and (
        input.stride != contiguous(input.shape)
        or (type(output_size) is not int and None in output_size)
    ):
        return NotImplemented
    hinted = _hinted(shape, input) if dims == 2 else None
    grad_fn = f"AdaptiveMaxPool{dims}DBackward0" if dims > 1 else "SqueezeBackward1"
    made = Made(shape, input.dtype, hinted, grad_fn)
    return (made, Made(shape, "int64", hinted, "")) if return_indices else made


def _register_adaptive_max(dims: int) -> None:
    def pool(input: Meta, output_size: Any, return_indices: bool = False) -> Any:
        return _adaptive_max_pool(input, output_size, return_indices, dims)

    def with_indices(
        input: Meta, output_size: Any, return_indices: bool = False
    ) -> Any:
        return _adaptive_max_pool(input, output_size, True, dims)

    name = f"torch.nn.functional.adaptive_max_pool{dims}d"
    rule(name)(pool)
    rule(f"{name}_with_indices")(with_indices)


for _dims in (1, 2, 3):
    _register_adaptive_max(_dims)

_LINEAR = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_NODE = {"nearest": "Nearest", "nearest-exact": "NearestExact", "linear": "Linear",
         "bilinear": "Bilinear", "bicubic": "Bicubic",
         "trilinear": "Trilinear"}  # fmt: skip


@rule("torch.nn.functional.interpolate", "torch.nn.functional.upsample")
def interpolate(
    input: Meta,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """`(8, 3, 32, 32)` by 2 gives (8, 3, 64, 64)."""
    shape, ndim = input.shape, len(input.shape)
    if ndim not in (3, 4, 5) or mode not in _NODE or 0 in shape:
        return NotImplemented
    if input.dtype not in ("float32", "float64") or _LINEAR.get(mode, ndim) != ndim:
        return NotImplemented
    if (size is None) == (scale_factor is None):
        return NotImplemented
    if mode.startswith("nearest") and align_corners is not None:
        return NotImplemented
    if antialias and (mode not in ("bilinear", "bicubic") or ndim != 4):
        return NotImplemented
    if recompute_scale_factor and size is not None:
        return NotImplemented
    sizes = _resized(shape[2:], size, scale_factor)
    if sizes is None or min(sizes) < 1:
        return NotImplemented
    made = (*shape[:2], *sizes)
    suffix = "Aa" if antialias else ""
    grad_fn = f"Upsample{_NODE[mode]}{ndim - 2}D{suffix}Backward0"
    return Made(made, input.dtype, _hinted(made, input), grad_fn)


def _resized(have: Shape, size: Any, scale_factor: Any) -> Shape | None:
    given = size if size is not None else scale_factor
    values = tuple(given) if isinstance(given, list | tuple) else (given,) * len(have)
    kinds = (int,) if size is not None else (int, float)
    if len(values) != len(have) or any(type(value) not in kinds for value in values):
        return None
    if size is not None:
        return values
    return tuple(floor(float(n) * f) for n, f in zip(have, values, strict=True))
