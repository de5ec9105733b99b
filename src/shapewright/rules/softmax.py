"""Softmax and its relatives: contiguous results, whatever the input's strides."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING, KNOWN
from shapewright.rules.registry import rule
from shapewright.rules.wording import unsupported, wrap_dim

_KERNEL = {"SoftmaxBackward0": "softmax", "LogSoftmaxBackward0": "log_softmax"}


def _softmax(input: Meta, dim: int, dtype: str | None, grad_fn: str) -> Any:
    shape, have = input.shape, input.dtype
    ndim = len(shape)
    if type(dim) is not int or have not in KNOWN:
        return NotImplemented
    if dtype is not None and dtype != have:
        if dtype not in FLOATING or have.startswith("complex"):
            return NotImplemented
    elif have not in FLOATING:
        return _no_kernel(input, dim, grad_fn)
    if not -ndim <= dim < ndim:
        wrap_dim(dim, ndim)
    return Made(shape, dtype or have, None, grad_fn)


def _no_kernel(input: Meta, dim: int, grad_fn: str) -> Any:
    at, dtype = wrap_dim(dim, len(input.shape)), input.dtype
    if dtype.startswith("complex") or 0 in input.shape or not input.shape:
        return NotImplemented
    name = _KERNEL[grad_fn]
    if at == len(input.shape) - 1:
        raise unsupported(f"{name}_lastdim_kernel_impl", dtype)
    return NotImplemented


@rule("torch.softmax", "torch.Tensor.softmax", "torch.special.softmax")
def softmax(input: Meta, dim: int, dtype: str | None = None) -> Any:
    """`(8, 12, 16, 16)` over dim -1 gives the same."""
    return _softmax(input, dim, dtype, "SoftmaxBackward0")


@rule("torch.log_softmax", "torch.Tensor.log_softmax", "torch.special.log_softmax")
def log_softmax(input: Meta, dim: int, dtype: str | None = None) -> Any:
    """`(8, 1000)` over dim 1 gives the same."""
    return _softmax(input, dim, dtype, "LogSoftmaxBackward0")


@rule("torch.nn.functional.softmax")
def functional_softmax(
    input: Meta, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None
) -> Any:
    """As `softmax`; without a dim torch warns, and answers itself."""
    if dim is None:
        return NotImplemented
    return _softmax(input, dim, dtype, "SoftmaxBackward0")


@rule("torch.nn.functional.log_softmax")
def functional_log_softmax(
    input: Meta, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None
) -> Any:
    """As `log_softmax`."""
    if dim is None:
        return NotImplemented
    return _softmax(input, dim, dtype, "LogSoftmaxBackward0")


@rule("torch.nn.functional.softmin")
def softmin(
    input: Meta, dim: int | None = None, _stacklevel: int = 3, dtype: str | None = None
) -> Any:
    """`softmax(-input)`."""
    if dim is None:
        return NotImplemented
    if input.dtype not in FLOATING:
        return NotImplemented
    return _softmax(input, dim, dtype, "SoftmaxBackward0")
