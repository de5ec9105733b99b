"""Pooling to a given size, whatever the input's.

2-d pools keep the memory format that the input hints; 3-d means answer contiguous.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous, hinted, suggested_format

Shape = tuple[int, ...]


def adaptive_sizes(have: Shape, output_size: Any) -> Shape | None:
    """The sizes asked for, one for all or one a dim; None keeps the input's."""
    many = isinstance(output_size, tuple | list)
    sizes = tuple(output_size) if many else (output_size,) * len(have)
    if len(sizes) != len(have):
        return None
    return tuple(b if a is None else a for a, b in zip(sizes, have, strict=True))


def _target(input: Meta, output_size: Any, dims: int) -> Any:
    """The output's shape; a size of None keeps the input's."""
    shape = input.shape
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape:
        return NotImplemented
    sizes = adaptive_sizes(shape[-dims:], output_size)
    if sizes is None:
        return NotImplemented
    if min(sizes) < 1:
        return NotImplemented
    return (*shape[:-dims], *sizes)


@rule("torch.nn.functional.adaptive_avg_pool2d", "torch._C._nn.adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Meta, output_size: Any) -> Any:
    """`(8, 512, 7, 7)` to size 1 gives (8, 512, 1, 1), by a mean."""
    shape = _target(input, output_size, 2)
    if shape is NotImplemented or input.dtype not in FLOATING:
        return NotImplemented
    kept = hinted(shape, input.shape, input.stride)
    if shape[-2:] != (1, 1):
        return Made(shape, input.dtype, kept, "AdaptiveAvgPool2DBackward0")
    if kept is not None:
        return Made(shape, input.dtype, kept, "AsStridedBackward1")
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
    kept = hinted(shape, input.shape, input.stride) if dims == 2 else None
    grad_fn = f"AdaptiveMaxPool{dims}DBackward0" if dims > 1 else "SqueezeBackward1"
    made = Made(shape, input.dtype, kept, grad_fn)
    return (made, Made(shape, "int64", kept, "")) if return_indices else made


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
