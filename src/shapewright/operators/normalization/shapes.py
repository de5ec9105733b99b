"""Normalisation: batch, layer, group, instance, RMS, local response.

Results are contiguous, but for batch_norm and group_norm, which keep channels_last.
Statistics that a call writes (`running_mean`) are not outputs and not covered here.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.metadata_rules import (
    SCALAR_TYPE,
    Made,
    Meta,
    Misfit,
    listed,
    rule,
    unsupported,
)
from shapewright.operators.promotion_and_broadcasting import FLOATING, is_plain
from shapewright.sizes.strides import (
    channels_last,
    contiguous,
    is_channels_last,
    is_contiguous,
    suggest_format,
)

Shape = tuple[int, ...]

_HALF = frozenset({"float16", "bfloat16"})


def _kept_format(shape: Shape, input: Meta) -> Shape | None:
    """Return strides for `shape` in the input's memory format; None if contiguous."""
    if suggest_format(input.shape, input.stride) == "contiguous_format":
        return None
    return channels_last(shape)


@rule("torch.nn.functional.layer_norm")
def layer_norm(
    input: Meta,
    normalized_shape: Any,
    weight: Meta | None = None,
    bias: Meta | None = None,
    eps: float = 1e-5,
) -> Any:
    """`(8, 16, 768)` over `(768,)` gives (8, 16, 768), contiguous."""
    if type(normalized_shape) is int:
        return NotImplemented
    last, shape, dtype = tuple(normalized_shape), input.shape, input.dtype
    if (weight is not None and weight.dtype != dtype) or (
        bias is not None and bias.dtype != dtype
    ):
        return _mixed_layer_norm(input, last, weight, bias)
    _check_normalized(last, shape, weight, bias)
    if dtype not in FLOATING:
        if dtype in SCALAR_TYPE and weight is None and bias is None and 0 not in shape:
            raise unsupported("LayerNormKernelImpl", dtype)
        return NotImplemented
    return Made(shape, dtype, None, "NativeLayerNormBackward0")


def _check_normalized(
    last: Shape,
    shape: Shape,
    weight: Meta | None,
    bias: Meta | None,
    comma: str = ", ",
) -> None:
    if not last:
        raise Misfit(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing "
            "at least one element, but got normalized_shape = []"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != last:
            raise Misfit(
                f"Expected {name} to be of same shape as normalized_shape, but got "
                f"{name} of shape {listed(parameter.shape)} and normalized_shape = "
                f"{listed(last)}"
            )
    if shape[-len(last) :] != last:
        raise Misfit(
            f"Given normalized_shape={listed(last)}, expected input with shape "
            f"[*{comma}{listed(last)[1:]}, but got input of size{listed(shape)}"
        )


def _mixed_layer_norm(
    input: Meta, last: Shape, weight: Meta | None, bias: Meta | None
) -> Any:
    """Infer `layer_norm` of half-precision input with float32 parameters."""
    shape, dtype = input.shape, input.dtype
    try:
        _check_normalized(last, shape, weight, bias)
    except Misfit:
        return NotImplemented
    parameter_dtypes = {p.dtype for p in (weight, bias) if p is not None}
    if 0 in shape or weight is None:
        return NotImplemented
    if weight.dtype == dtype and bias is not None:
        names = (SCALAR_TYPE.get(m.dtype, m.dtype) for m in (input, bias))
        raise Misfit("expected scalar type {} but found {}".format(*names))
    if parameter_dtypes != {"float32"}:
        raise Misfit("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if dtype not in _HALF:
        raise Misfit("mixed dtype (CPU): all inputs must share same datatype.")
    return Made(shape, dtype, None, "NativeLayerNormBackward0")


@rule("torch.nn.functional.batch_norm")
def batch_norm(
    input: Meta,
    running_mean: Meta | None,
    running_var: Meta | None,
    weight: Meta | None = None,
    bias: Meta | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`(8, 64, 56, 56)` gives (8, 64, 56, 56), in the same memory format."""
    shape, dtype = input.shape, input.dtype
    if len(shape) < 2 or dtype not in FLOATING or 0 in shape:
        return NotImplemented
    if training and prod(shape) // (shape[1] or 1) == 1:
        raise Misfit(
            "Expected more than 1 value per channel when training, got input size "
            f"torch.Size({listed(shape)})",
            "ValueError",
        )
    _check_statistics(shape[1], running_mean, running_var, weight, bias, training)
    for parameter in (weight, bias, running_mean, running_var):
        if parameter is not None and parameter.dtype != dtype:
            return _mixed_batch_norm(input, weight, bias, running_mean, running_var)
    return _normalized(input)


def _normalized(input: Meta) -> Made:
    shape = input.shape
    if is_contiguous(shape, input.stride):
        return Made(shape, input.dtype, None, "NativeBatchNormBackward0")
    if is_channels_last(shape, input.stride):
        stride: Shape | None = channels_last(shape)
    else:
        stride = _kept_format(shape, input)
    return Made(shape, input.dtype, stride, "NativeBatchNormBackward0")


def _check_statistics(
    channels: int,
    running_mean: Meta | None,
    running_var: Meta | None,
    weight: Meta | None,
    bias: Meta | None,
    training: bool,
) -> None:
    named = (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    )
    for name, parameter in named:
        if parameter is not None:
            if parameter.shape != (channels,) and prod(parameter.shape) != channels:
                raise Misfit(
                    f"{name} should contain {channels} elements not "
                    f"{prod(parameter.shape)}"
                )
        elif not training and name.startswith("running"):
            raise Misfit(f"{name} must be defined in evaluation mode")


def _mixed_batch_norm(
    input: Meta,
    weight: Meta | None,
    bias: Meta | None,
    running_mean: Meta | None,
    running_var: Meta | None,
) -> Any:
    parameter_dtypes = {
        p.dtype for p in (weight, bias, running_mean, running_var) if p is not None
    }
    if input.dtype not in _HALF or parameter_dtypes != {"float32"}:
        return NotImplemented
    return _normalized(input)


@rule("torch.nn.functional.group_norm")
def group_norm(
    input: Meta,
    num_groups: int,
    weight: Meta | None = None,
    bias: Meta | None = None,
    eps: float = 1e-5,
) -> Any:
    """`(8, 64, 56, 56)` in 32 groups gives (8, 64, 56, 56), in the same format."""
    shape, dtype = input.shape, input.dtype
    if len(shape) < 2:
        raise Misfit(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups < 1 or dtype not in FLOATING or 0 in shape:
        return NotImplemented
    if shape[0] * shape[1] // num_groups * prod(shape[2:]) == 1:
        raise Misfit(
            "Expected more than 1 value per channel when training, got input size "
            f"{[shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]}",
            "ValueError",
        )
    _check_groups(shape, num_groups, weight, bias)
    for parameter in (weight, bias):
        if parameter is not None and parameter.dtype != dtype:
            mixed = {p.dtype for p in (weight, bias) if p is not None}
            if dtype not in _HALF or mixed != {"float32"}:
                return NotImplemented
    return Made(shape, dtype, _kept_format(shape, input), "NativeGroupNormBackward0")


def _check_groups(
    shape: Shape, num_groups: int, weight: Meta | None, bias: Meta | None
) -> None:
    channels = shape[1]
    if channels % num_groups:
        raise Misfit(
            "Expected number of channels in input to be divisible by num_groups, but "
            f"got input of shape {listed(shape)} and num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != (channels,):
            weight_shape = (0,) if weight is None else weight.shape
            raise Misfit(
                f"Expected {name} to be a vector of size equal to the number of "
                f"channels in input, but got {name} of shape {listed(weight_shape)} and"
                f" input of shape {listed(shape)}"
            )


@rule("torch.nn.functional.instance_norm")
def instance_norm(
    input: Meta,
    running_mean: Meta | None = None,
    running_var: Meta | None = None,
    weight: Meta | None = None,
    bias: Meta | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`(8, 64, 56, 56)` gives (8, 64, 56, 56), contiguous."""
    shape, dtype = input.shape, input.dtype
    if len(shape) < 3 or dtype not in FLOATING or 0 in shape:
        return NotImplemented
    if use_input_stats and prod(shape[2:]) == 1:
        raise Misfit(
            "Expected more than 1 spatial element when training, got input size "
            f"torch.Size({listed(shape)})",
            "ValueError",
        )
    for parameter in (running_mean, running_var, weight, bias):
        if parameter is not None and (
            parameter.shape != (shape[1],) or parameter.dtype != dtype
        ):
            return NotImplemented
    if not use_input_stats and (running_mean is None or running_var is None):
        return NotImplemented
    return Made(shape, dtype, None, "ViewBackward0")


@rule("torch.nn.functional.rms_norm", "torch.rms_norm")
def rms_norm(
    input: Meta,
    normalized_shape: Any,
    weight: Meta | None = None,
    eps: float | None = None,
) -> Any:
    """`(8, 16, 4096)` over `(4096,)` gives (8, 16, 4096), contiguous."""
    if type(normalized_shape) is int:
        return NotImplemented
    last, shape, dtype = tuple(normalized_shape), input.shape, input.dtype
    _check_normalized(last, shape, weight, None, comma="")
    if dtype not in FLOATING or 0 in shape:
        return NotImplemented
    if weight is not None and weight.dtype != dtype:
        return NotImplemented
    if suggest_format(shape, input.stride) != "contiguous_format":
        return NotImplemented
    if 1 in shape and input.stride != contiguous(shape):
        return NotImplemented
    if not is_contiguous(shape, input.stride):
        return Made(shape, dtype, None, None)
    grad_fn = "ToCopyBackward0" if dtype in _HALF else "MulBackward0"
    return Made(shape, dtype, None, grad_fn)


@rule("torch.nn.functional.local_response_norm")
def local_response_norm(
    input: Meta, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """`(8, 64, 27, 27)` gives (8, 64, 27, 27)."""
    shape = input.shape
    if len(shape) < 3 or input.dtype not in FLOATING or 0 in shape:
        return NotImplemented
    if not is_contiguous(shape, input.stride) or size < 1 or input.dtype in _HALF:
        return NotImplemented
    return Made(shape, input.dtype, None, "DivBackward0")


@rule("torch._weight_norm")
def weight_norm(v: Meta, g: Meta, dim: int = 0) -> Any:
    """`v * g / norm(v)`: (64, 32, 3) with (64, 1, 1) gives (64, 32, 3)."""
    last = len(v.shape) - 1
    if (
        v.dtype not in ("float32", "float64")
        or g.dtype != v.dtype
        or not is_plain(v, g)
        or last < 1
    ):
        return NotImplemented
    if dim not in (0, last):
        return NotImplemented
    want = tuple(size if at == dim else 1 for at, size in enumerate(v.shape))
    if g.shape != want:
        return NotImplemented
    return Made(v.shape, v.dtype, None, "WeightNormInterfaceBackward0")
