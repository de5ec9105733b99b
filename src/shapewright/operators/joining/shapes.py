"""Metadata rules for joining and repeating tensors: cat, stack, repeat, tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.operators.matmul.shapes import operand
from shapewright.operators.metadata_rules import (
    Made,
    Meta,
    Misfit,
    listed,
    rule,
    wrap_dim,
)
from shapewright.operators.promotion_and_broadcasting import KNOWN, promote
from shapewright.sizes.strides import compute_format_strides, suggest_format

Shape = tuple[int, ...]


def _joined_dtype(tensors: Sequence[Meta]) -> str | None:
    dtype: str | None = tensors[0].dtype
    if dtype not in KNOWN:
        return None
    for tensor in tensors:
        if tensor.dtype != dtype and dtype is not None:
            dtype = promote(dtype, tensor.dtype)
    return dtype


def _joined_format(tensors: Sequence[Meta]) -> str:
    """Return the memory format that all tensors suggest, or the contiguous format."""
    suggested = ""
    for tensor in tensors:
        own = suggest_format(tensor.shape, tensor.stride)
        if own == "contiguous_format" or (suggested and own != suggested):
            return "contiguous_format"
        suggested = own
    return suggested


@rule("torch.cat", "torch.concat", "torch.concatenate")
def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Infer the output: `(8, 16, 4)`, `(8, 16, 6)` along dim 2 give (8, 16, 10)."""
    if out is not None or type(dim) is not int:
        return NotImplemented
    if not tensors:
        raise Misfit("torch.cat(): expected a non-empty list of Tensors", "ValueError")
    first, total, at = None, 0, 0
    _check_dims(tensors)
    for position, tensor in enumerate(tensors):
        shape = tensor.shape
        if shape == (0,):
            continue
        if first is None:
            first, at = shape, wrap_dim(dim, len(shape))
        elif shape != first:
            _check_joined(first, shape, at, position)
        total += shape[at]
    dtype = _joined_dtype(tensors)
    if dtype is None:
        return NotImplemented
    if first is None:
        return Made((0,), dtype, None, "CatBackward0")
    output_shape = (*first[:at], total, *first[at + 1 :])
    if len(output_shape) not in (4, 5):
        return Made(output_shape, dtype, None, "CatBackward0")
    return Made(
        output_shape,
        dtype,
        compute_format_strides(output_shape, _joined_format(tensors)),
        "CatBackward0",
    )


def _check_dims(tensors: Sequence[Meta]) -> None:
    for position, tensor in enumerate(tensors):
        if not tensor.shape:
            raise Misfit(
                f"zero-dimensional tensor (at position {position}) cannot be "
                "concatenated"
            )


def _check_joined(first: Shape, shape: Shape, at: int, position: int) -> None:
    if len(shape) != len(first):
        raise Misfit(
            f"Tensors must have same number of dimensions: got {len(first)} and "
            f"{len(shape)}"
        )
    for dim, (want, have) in enumerate(zip(first, shape, strict=True)):
        if want != have and dim != at:
            raise Misfit(
                f"Sizes of tensors must match except in dimension {at}. Expected size "
                f"{want} but got size {have} for tensor number {position} in the list."
            )


@rule("torch.stack")
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Infer the output: three of `(8, 16)` give (3, 8, 16)."""
    if out is not None or type(dim) is not int:
        return NotImplemented
    if not tensors:
        raise Misfit("stack expects a non-empty TensorList")
    first = tensors[0].shape
    at = wrap_dim(dim, len(first) + 1)
    for position, tensor in enumerate(tensors):
        if tensor.shape != first:
            raise Misfit(
                "stack expects each tensor to be equal size, but got "
                f"{listed(first)} at entry 0 and {listed(tensor.shape)} at entry "
                f"{position}"
            )
    dtype = _joined_dtype(tensors)
    if dtype is None:
        return NotImplemented
    output_shape = (*first[:at], len(tensors), *first[at:])
    if len(output_shape) in (4, 5):
        joined = _joined_format([_unsqueezed(tensor, at) for tensor in tensors])
        if joined != "contiguous_format":
            return NotImplemented
    if len(output_shape) == 5:
        inner = [suggest_format(t.shape, t.stride) for t in tensors]
        if "channels_last" in inner:
            return NotImplemented
    if len(output_shape) == 6:
        inner = [suggest_format(t.shape, t.stride) for t in tensors]
        if "channels_last_3d" in inner:
            return NotImplemented
    return Made(output_shape, dtype, None, "StackBackward0")


def _unsqueezed(meta: Meta, at: int) -> Meta:
    shape, stride = meta.shape, meta.stride
    step = shape[at] * stride[at] if at < len(shape) else 1
    return operand(meta)._replace(
        shape=(*shape[:at], 1, *shape[at:]), stride=(*stride[:at], step, *stride[at:])
    )


def _at_least(meta: Meta, ndim: int) -> Meta:
    """Return the tensor with the shape that `atleast_1d`, `_2d` or `_3d` gives it."""
    shape, stride = meta.shape, meta.stride
    if not shape:
        shape, stride = (1,), (1,)
    if ndim > 1 and len(shape) == 1:
        shape, stride = (1, *shape), (shape[0] * stride[0], *stride)
    if ndim > 2 and len(shape) == 2:
        shape, stride = (*shape, 1), (*stride, 1)
    return operand(meta)._replace(shape=shape, stride=stride)


@rule("torch.hstack")
def hstack(tensors: Any, *, out: Any = None) -> Any:
    """Infer the output: `(2, 3)`, `(2, 4)` give (2, 7); vectors are concatenated."""
    if out is not None or not tensors:
        return NotImplemented
    raised = [_at_least(tensor, 1) for tensor in tensors]
    return cat(raised, 0 if len(raised[0].shape) == 1 else 1)


@rule("torch.vstack", "torch.row_stack")
def vstack(tensors: Any, *, out: Any = None) -> Any:
    """Infer the output: `(2, 3)` and `(3,)` give (3, 3)."""
    if out is not None or not tensors:
        return NotImplemented
    return cat([_at_least(tensor, 2) for tensor in tensors], 0)


@rule("torch.column_stack")
def column_stack(tensors: Any, *, out: Any = None) -> Any:
    """Infer the output: `(8,)` and (8, 2) give (8, 3), as vectors become columns."""
    if not isinstance(tensors, tuple | list):
        return NotImplemented
    return cat([_column(meta) for meta in tensors], 1, out=out)


def _column(meta: Meta) -> Meta:
    """Return a vector as a matrix with one column, as `reshape` does."""
    if len(meta.shape) > 1:
        return meta
    size = meta.shape[0] if meta.shape else 1
    step = meta.stride[0] if meta.shape else 1
    return operand(meta)._replace(shape=(size, 1), stride=(step, 1))


@rule("torch.dstack")
def dstack(tensors: Any, *, out: Any = None) -> Any:
    """Infer the output: two of `(2, 3)` give (2, 3, 2)."""
    if out is not None or not tensors:
        return NotImplemented
    return cat([_at_least(tensor, 3) for tensor in tensors], 2)


@rule("torch.Tensor.repeat")
def repeat(self: Meta, *sizes: Any, repeats: Any = None) -> Any:
    """Infer the output: `(3, 4)` repeated (2, 1, 5) gives (2, 3, 20)."""
    times = sizes if repeats is None else (repeats,)
    if len(times) == 1 and not isinstance(times[0], int):
        times = tuple(times[0])
    return _repeated(self, times)


def _repeated(meta: Meta, times: Any) -> Any:
    shape = meta.shape
    if any(type(count) is not int for count in times):
        return NotImplemented
    if len(times) < len(shape):
        raise Misfit(
            "Number of dimensions of repeat dims can not be smaller than number of "
            "dimensions of tensor"
        )
    padded = (1,) * (len(times) - len(shape)) + shape
    output_shape = tuple(a * b for a, b in zip(padded, times, strict=True))
    if min(times, default=1) < 0:
        return NotImplemented
    return Made(output_shape, meta.dtype, None, "RepeatBackward0")


@rule("torch.tile", "torch.Tensor.tile")
def tile(input: Meta, *dims: Any) -> Any:
    """Infer the output: `(3, 4)` tiled (2,) gives (3, 8); dims count from the last."""
    times = dims
    if len(times) == 1 and not isinstance(times[0], int):
        times = tuple(times[0])
    missing = len(input.shape) - len(times)
    return _repeated(input, (1,) * missing + tuple(times))


@rule("torch.repeat_interleave", "torch.Tensor.repeat_interleave")
def repeat_interleave(
    input: Meta, repeats: Any = None, dim: int | None = None, *, output_size: Any = None
) -> Any:
    """Infer the output: `(2, 8, 16)`, 3 repeats along dim 1, gives (2, 24, 16)."""
    if type(repeats) is not int or output_size is not None:
        return NotImplemented
    shape, ndim = input.shape, len(input.shape)
    if repeats < 0:
        raise Misfit("Repeats must be non-negative")
    if not shape or 0 in shape or repeats == 0:
        return NotImplemented
    if dim is None:
        count = repeats
        for size in shape:
            count *= size
        return Made((count,), input.dtype, None, "ViewBackward0")
    at = wrap_dim(dim, ndim)
    output_shape = (*shape[:at], shape[at] * repeats, *shape[at + 1 :])
    return Made(output_shape, input.dtype, None, "ViewBackward0")
