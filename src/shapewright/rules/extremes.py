"""Largest, smallest, middle and running values, with their places.

Functions that give (values, indices) answer a tuple of two.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.arithmetic import Binary, out_of_place
from shapewright.rules.axes import axis
from shapewright.rules.elementwise import new, no_overlap
from shapewright.rules.meta import Made
from shapewright.rules.promotion import FLOATING, KIND
from shapewright.rules.reduction import over
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous
from shapewright.rules.unary import Family


def _empty(input: Any, dim: Any) -> bool:
    """Whether some result would come from no element; torch refuses in many words."""
    shape = input.shape
    if type(dim) is int and shape:
        return not shape[axis(dim, len(shape))]
    return not prod(shape)


def _real(input: Any) -> bool:
    return KIND.get(input.dtype, 3) < 3


def _pair(input: Any, dim: Any, keepdim: Any, grad_fn: str) -> Any:
    if type(dim) is not int or not _real(input) or _empty(input, dim):
        return NotImplemented
    values = over(input, dim, keepdim, input.dtype, grad_fn)
    return values, Made(values.shape, "int64", values.stride, "")


def _extreme(name: str) -> None:
    title = name.capitalize()
    both = {"max": "maximum", "min": "minimum"}[name]
    text = (f"{both} not implemented for complex tensors.", "RuntimeError")
    grads = (f"{both.capitalize()}Backward0", "-", "-")
    elementwise = out_of_place(Binary(Family("bihf", refuses={"c": text}), grads))

    def metadata(
        input: Any, dim: Any = None, keepdim: Any = False, *, other: Any = None,
        out: Any = None,
    ) -> Any:  # fmt: skip
        if out is not None:
            return NotImplemented
        if hasattr(dim, "dtype"):
            other = dim
        if other is not None:
            return elementwise(input, other)
        if dim is not None:
            return _pair(input, dim, keepdim, f"{title}Backward0")
        if not _real(input) or _empty(input, None):
            return NotImplemented
        return over(input, None, False, input.dtype, f"{title}Backward1")

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_extreme("max")
_extreme("min")


def _amax(name: str) -> None:
    grad_fn = f"{name.capitalize()}Backward0"

    def metadata(
        input: Any, dim: Any = (), keepdim: Any = False, *, out: Any = None
    ) -> Any:
        if out is not None or not _real(input) or not prod(input.shape):
            return NotImplemented
        if type(dim) is not int and not isinstance(dim, tuple | list):
            return NotImplemented
        return over(input, dim, keepdim, input.dtype, grad_fn)

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_amax("amax")
_amax("amin")


@rule("torch.aminmax", "torch.Tensor.aminmax")
def aminmax(
    input: Any, *, dim: Any = None, keepdim: Any = False, out: Any = None
) -> Any:
    """(smallest, largest), over all dims or one."""
    if out is not None or not _real(input) or _empty(input, dim):
        return NotImplemented
    made = over(input, dim, keepdim, input.dtype, "AminmaxBackward0")
    return made, made


@rule("torch.argmax", "torch.Tensor.argmax", "torch.argmin", "torch.Tensor.argmin")
def argmax(
    input: Any, dim: Any = None, keepdim: Any = False, *, out: Any = None
) -> Any:
    """The place of the largest: int64."""
    if (
        out is not None
        or not _real(input)
        or input.dtype == "bool"
        or _empty(input, dim)
    ):
        return NotImplemented
    return over(input, dim, keepdim, "int64", "")


def _middle(name: str) -> None:
    title = name.capitalize()

    def metadata(
        input: Any, dim: Any = None, keepdim: Any = False, *, out: Any = None
    ) -> Any:
        if out is not None or input.dtype == "bool" or not _real(input):
            return NotImplemented
        if dim is not None:
            return _pair(input, dim, keepdim, f"{title}Backward1")
        if _empty(input, None):
            return NotImplemented
        return over(input, None, False, input.dtype, f"{title}Backward0")

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_middle("median")
_middle("nanmedian")


@rule("torch.mode", "torch.Tensor.mode")
def mode(input: Any, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent values and where one stands."""
    if out is not None:
        return NotImplemented
    return _pair(input, dim, keepdim, "ModeBackward0")


@rule("torch.kthvalue", "torch.Tensor.kthvalue")
def kthvalue(
    input: Any, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The k-th smallest values, k from 1."""
    shape = input.shape
    if type(k) is not int or type(dim) is not int:
        return NotImplemented
    size = shape[axis(dim, len(shape))] if shape else 1
    if out is not None or input.dtype == "bool" or not 1 <= k <= size:
        return NotImplemented
    return _pair(input, dim, keepdim, "KthvalueBackward0")


def _running(name: str, grad_fn: str) -> None:
    def metadata(
        input: Any, dim: int, *, dtype: str | None = None, out: Any = None
    ) -> Any:
        have = input.dtype
        result = dtype or ("int64" if KIND.get(have, 3) < 2 else have)
        if out is not None or have not in KIND or result not in KIND:
            return NotImplemented
        if type(dim) is not int or result == "bool":
            return NotImplemented
        shape = input.shape
        axis(dim, len(shape))
        return new(shape, result, contiguous(shape), grad_fn)

    def wrote(input: Any, dim: int, *, dtype: str | None = None) -> Any:
        if dtype is not None or input.dtype not in FLOATING:
            return NotImplemented
        axis(dim, len(input.shape))
        no_overlap(input)
        return new(input.shape, input.dtype, input.stride, grad_fn)

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)
    rule(f"torch.Tensor.{name}_", writes=0)(wrote)


_running("cumsum", "CumsumBackward0")
_running("cumprod", "CumprodBackward0")


@rule("torch.logcumsumexp", "torch.Tensor.logcumsumexp")
def logcumsumexp(input: Any, dim: int, *, out: Any = None) -> Any:
    """Running `logsumexp`, of floats."""
    if out is not None or input.dtype not in FLOATING:
        return NotImplemented
    shape = input.shape
    axis(dim, len(shape))
    return new(shape, input.dtype, contiguous(shape), "LogcumsumexpBackward0")


def _running_extreme(name: str) -> None:
    grad_fn = f"{name.capitalize()}Backward0"

    def metadata(input: Any, dim: int, *, out: Any = None) -> Any:
        if out is not None or not _real(input) or type(dim) is not int:
            return NotImplemented
        shape = input.shape
        if not shape or 0 in shape:
            return NotImplemented
        axis(dim, len(shape))
        stride = contiguous(shape)
        return new(shape, input.dtype, stride, grad_fn), Made(
            shape, "int64", stride, ""
        )

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_running_extreme("cummax")
_running_extreme("cummin")
