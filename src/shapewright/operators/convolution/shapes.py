"""Metadata rules for convolutions and their transposes in one to three dims.

Mirrors `aten/src/ATen/native/Convolution.cpp` on the CPU: a 1-d convolution runs as
a 2-d one on contiguous input; the output of a 2-d one is channels_last if the strides
of input or weight suggest it; that of a 3-d one too, if oneDNN computes it.
"""

from __future__ import annotations

from math import prod
from operator import add
from typing import Any

from shapewright.operators.convolution.kernel_errors import (
    NEVER_ONEDNN,
    by_onednn,
    check_arguments,
    check_batch,
    check_bias_dtype,
    check_dtypes,
    check_output_padding,
    check_shapes,
)
from shapewright.operators.matmul.shapes import operand
from shapewright.operators.metadata_rules import Made, Meta, Misfit, rule
from shapewright.operators.promotion_and_broadcasting import FLOATING
from shapewright.sizes.strides import (
    channels_last,
    contiguous,
    is_contiguous,
    suggest_format,
)
from shapewright.sizes.window_sizes import (
    Window,
    compute_convolved,
    compute_same_padding,
    expand_per_dim,
)

Shape = tuple[int, ...]

_CONVOLVED = FLOATING | {"int64"}

_ONES: dict[int, Shape] = {1: (1,), 2: (1, 1), 3: (1, 1, 1)}


def _convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    dims: int,
) -> Any:
    """Infer the output: `(8, 3, 32, 32)`, weight `(6, 3, 5, 5)`: `(8, 6, 28, 28)`."""
    shape, kernel, dtype = input.shape, weight.shape, input.dtype
    stride = expand_per_dim(stride, dims)
    dilation = expand_per_dim(dilation, dims)
    if type(padding) is str:
        check_batch(shape, dims, f"conv{dims}d")
        if bias is not None and bias.dtype != dtype:
            return NotImplemented
        return _padded_by_name(
            input, weight, bias, stride, padding, dilation, groups, dims
        )
    padding = expand_per_dim(padding, dims)
    if (
        not _usable(stride, padding, dilation, dims)
        or len(shape) != dims + 2
        or len(kernel) != dims + 2
        or dtype != weight.dtype
        or dtype not in _CONVOLVED
        or groups < 1
        or shape[1] != kernel[1] * groups
        or kernel[0] % groups
        or (bias is not None and (bias.dtype != dtype or bias.shape != kernel[:1]))
    ):
        return _unusual(input, weight, bias, stride, padding, dilation, groups, dims)
    windows = compute_convolved(shape[2:], kernel[2:], stride, padding, dilation)
    sizes = [window.places for window in windows]
    if min(sizes) <= 0 or 0 in shape or 0 in kernel:
        return _unusual(input, weight, bias, stride, padding, dilation, groups, dims)
    return _made((shape[0], kernel[0], *sizes), input, weight, groups)


def _usable(stride: Shape, padding: Shape, dilation: Shape, dims: int) -> bool:
    return (
        len(stride) == len(padding) == len(dilation) == dims
        and min(stride) > 0
        and min(padding) >= 0
        and min(dilation) > 0
    )


def _made(shape: Shape, input: Meta, weight: Meta, groups: int) -> Any:
    """Return the output, channels last if the strides of input or weight suggest so."""
    dtype = input.dtype
    if len(shape) == 3:
        flat = is_contiguous(input.shape, input.stride)
        own = input.stride if flat else contiguous(input.shape)
        hinted = _hints_as_2d(input.shape, own) or _hints_as_2d(
            weight.shape, weight.stride
        )
    else:
        hinted = (
            suggest_format(input.shape, input.stride) != "contiguous_format"
            or suggest_format(weight.shape, weight.stride) != "contiguous_format"
        )
    if not hinted or (len(shape) == 5 and dtype in NEVER_ONEDNN):
        return Made(shape, dtype, None, "ConvolutionBackward0")
    if groups > 1 and dtype != "float32":
        return NotImplemented
    if len(shape) == 5:
        fused = by_onednn(input, weight, groups)
        if fused is None:
            return NotImplemented
        if not fused:
            return Made(shape, dtype, None, "ConvolutionBackward0")
    if len(shape) == 3:
        _, c, length = shape
        stride: Shape = (c * length, 1, c)
    else:
        stride = channels_last(shape)
    return Made(shape, dtype, stride, "ConvolutionBackward0")


def _hints_as_2d(shape: Shape, stride: Shape) -> bool:
    (a, b, c), (s, t, u) = shape, stride
    return suggest_format((a, b, 1, c), (s, t, c * u, u)) == "channels_last"


def _unusual(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    groups: int,
    dims: int,
    output_padding: Shape | None = None,
) -> Any:
    """Handle unbatched and empty inputs, and raise torch's error for wrong sizes."""
    transposed = output_padding is not None
    shape = input.shape
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    if not transposed and {input.dtype, weight.dtype} <= _CONVOLVED | {"bool"}:
        check_bias_dtype(input, bias)
    check_batch(shape, dims, name)
    if len(shape) == dims + 1:
        return _unbatched(
            input, weight, bias, stride, padding, dilation, groups, dims, output_padding
        )
    if not {input.dtype, weight.dtype} <= _CONVOLVED | {"bool"}:
        return NotImplemented
    check_arguments(weight, stride, padding, output_padding, dilation, groups)
    if min(dilation) < 1:
        return NotImplemented
    check_shapes(input, weight, bias, padding, dilation, groups, transposed)
    if not transposed and 0 not in shape and 0 not in weight.shape:
        check_dtypes(input, weight, groups)
    return NotImplemented


def _unbatched(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    groups: int,
    dims: int,
    output_padding: Shape | None,
) -> Any:
    batch = operand(input)._replace(
        shape=(1, *input.shape),
        stride=(input.shape[0] * input.stride[0], *input.stride),
    )
    if output_padding is None:
        output = _convolution(
            batch, weight, bias, stride, padding, dilation, groups, dims
        )
    else:
        output = _transposed_convolution(
            batch, weight, bias, stride, padding, output_padding, groups, dilation, dims
        )
    if output is NotImplemented:
        return output
    inner = output.stride[1:] if output.stride else None
    return Made(output.shape[1:], output.dtype, inner, "SqueezeBackward1")


def _padded_by_name(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Shape,
    padding: str,
    dilation: Shape,
    groups: int,
    dims: int,
) -> Any:
    """Infer the output for `padding="same"` (as the kernel needs) or "valid" (none)."""
    if padding == "valid":
        return _convolution(
            input, weight, bias, stride, _zeros(dims), dilation, groups, dims
        )
    if padding != "same":
        raise Misfit(f"Invalid padding string: '{padding}'")
    if len(weight.shape) != dims + 2 or len(stride) != dims or len(dilation) != dims:
        return NotImplemented
    if min(dilation) < 1:
        return NotImplemented
    if any(step != 1 for step in stride):
        raise Misfit("padding='same' is not supported for strided convolutions")
    sides = list(map(compute_same_padding, weight.shape[2:], dilation))
    if any(before != after for before, after in sides):
        return _uneven(input, weight, bias, sides, dilation, groups, dims)
    even = tuple(before for before, _ in sides)
    return _convolution(input, weight, bias, stride, even, dilation, groups, dims)


def _uneven(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    sides: list[tuple[int, int]],
    dilation: Shape,
    groups: int,
    dims: int,
) -> Any:
    """Infer the output for uneven padding: torch pads the far side by one first."""
    shape = input.shape
    if len(shape) != dims + 2:
        return NotImplemented
    more = (after - before for before, after in sides)
    padded = (*shape[:2], *map(add, shape[2:], more))
    even = tuple(before for before, _ in sides)
    output = _convolution(
        operand(input)._replace(shape=padded),
        weight,
        bias,
        _ONES[dims],
        even,
        dilation,
        groups,
        dims,
    )
    if output is NotImplemented:
        return output
    return _made(output.shape, input, weight, groups)


def _zeros(dims: int) -> Shape:
    return (0,) * dims


def _transposed_convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
    dims: int,
) -> Any:
    """Infer `(8, 8, 8, 8)` of `(8, 16, 4, 4)`, weight `(16, 8, 2, 2)` and stride 2."""
    shape, kernel, dtype = input.shape, weight.shape, input.dtype
    stride, padding = expand_per_dim(stride, dims), expand_per_dim(padding, dims)
    dilation, extra = (
        expand_per_dim(dilation, dims),
        expand_per_dim(output_padding, dims),
    )
    if (
        len(shape) != dims + 2
        or len(kernel) != dims + 2
        or dtype != weight.dtype
        or dtype not in _CONVOLVED
        or groups < 1
        or shape[1] != kernel[0]
        or kernel[0] % groups
        or (
            bias is not None
            and (bias.dtype != dtype or bias.shape != (kernel[1] * groups,))
        )
        or not _usable(stride, padding, dilation, dims)
        or len(extra) != dims
        or 0 in shape
        or 0 in kernel
        or min(extra) < 0
    ):
        return _unusual(
            input, weight, bias, stride, padding, dilation, groups, dims, extra
        )
    check_output_padding(extra, stride, dilation)
    windows = compute_convolved(shape[2:], kernel[2:], stride, padding, dilation)
    sizes = list(map(Window.spread, windows, extra))
    if min(sizes) <= 0:
        return NotImplemented
    return _made((shape[0], kernel[1] * groups, *sizes), input, weight, groups)


def _flops(
    input: Meta, weight: Meta, bias: Any, output: Any, transposed: bool = False
) -> int:
    """Count two FLOPs for each multiply-add, including padding, as torch does."""
    dims = len(weight.shape) - 2
    batch = input.shape[0] if len(input.shape) == dims + 2 else 1
    positions = (input.shape if transposed else output.shape)[-dims:]
    return 2 * prod(positions) * prod(weight.shape) * batch


def _register(dims: int) -> None:
    def conv(
        input: Meta,
        weight: Meta,
        bias: Meta | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return _convolution(
            input, weight, bias, stride, padding, dilation, groups, dims
        )

    def conv_transpose(
        input: Meta,
        weight: Meta,
        bias: Meta | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        return _transposed_convolution(
            input, weight, bias, stride, padding, output_padding, groups, dilation, dims
        )

    def conv_flops(*args: Any, **kwargs: Any) -> int | None:
        return _counted(conv, args, kwargs, transposed=False)

    def conv_transpose_flops(*args: Any, **kwargs: Any) -> int | None:
        return _counted(conv_transpose, args, kwargs, transposed=True)

    rule(f"torch.conv{dims}d", f"torch.nn.functional.conv{dims}d", flops=conv_flops)(
        conv
    )
    name = f"conv_transpose{dims}d"
    rule(f"torch.{name}", f"torch.nn.functional.{name}", flops=conv_transpose_flops)(
        conv_transpose
    )


def _counted(metadata: Any, args: Any, kwargs: Any, transposed: bool) -> int | None:
    """Return the FLOPs of a call, or None if the rule leaves the call to torch."""
    operands = dict(zip(("input", "weight"), args, strict=False)) | kwargs
    output = None if transposed else metadata(*args, **kwargs)
    if output is NotImplemented:
        return None
    return _flops(operands["input"], operands["weight"], None, output, transposed)


for _dims in (1, 2, 3):
    _register(_dims)
