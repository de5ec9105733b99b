"""Results of operators below autograd, without torch's kernels for meta tensors.

Many of these are written in Python, upon references of other operators: a layer norm
takes a millisecond, the lists of an optimizer ten. Where all operands are plain (data-
free, contiguous, of one dtype), what a kernel returns is known from its operands.
Everything else is left to torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_ATEN: Any = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)

Kernel = Callable[..., Any]
"""Takes an operator's arguments; returns its result, or `LEFT` if torch is to say."""

LEFT = object()
"""Returned where the operands are not plain."""


def compute_quickly(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what an operator returns, from torch if there is no quicker way.

    Example: `compute_quickly(aten.gelu.default, (x,), {})` is `torch.empty_like(x)` if
    `x` is a contiguous meta tensor of a floating dtype.
    """
    kernel = _KERNELS.get(func)
    if kernel is not None:
        output = kernel(*args, **kwargs)
        if output is not LEFT:
            return output
    return func(*args, **kwargs)


def _is_plain(tensor: Any) -> bool:
    """Return whether a tensor is data-free, contiguous, and of a floating dtype."""
    return (
        isinstance(tensor, torch.Tensor)
        and tensor.is_meta
        and tensor.layout is torch.strided
        and tensor.is_contiguous()
        and tensor.is_floating_point()
        and not tensor._is_zerotensor()
    )


def _create_like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def _answer_unary(x: Any, *args: Any, **kwargs: Any) -> Any:
    if not _is_plain(x) or any(isinstance(arg, complex) for arg in args):
        return LEFT
    return _create_like(x)


def _answer_binary(x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    """Answer for two tensors of a shape and dtype, or for a tensor and a number."""
    if not _is_plain(x):
        return LEFT
    if isinstance(y, torch.Tensor):
        if not _is_plain(y) or x.dtype != y.dtype:
            return LEFT
        if x.shape != y.shape and (y.dim() or not x.dim()):
            return LEFT
    elif not isinstance(y, int | float):
        return LEFT
    return _create_like(x)


def _answer_gradient(gradient: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Answer for a gradient and what a pointwise operator saved."""
    if not (_is_plain(gradient) and _is_plain(x)):
        return LEFT
    if gradient.shape != x.shape or gradient.dtype != x.dtype:
        return LEFT
    return _create_like(gradient)


def _copy_plainly(x: Any, **kwargs: Any) -> Any:
    """Answer for `zeros_like` and its like, which take the dtype of a tensor."""
    if not _is_plain(x):
        return LEFT
    for name, value in kwargs.items():
        if name == "dtype":
            if value not in (None, x.dtype):
                return LEFT
        elif name == "memory_format":
            if value not in (None, torch.preserve_format, torch.contiguous_format):
                return LEFT
        elif name == "layout":
            if value not in (None, torch.strided):
                return LEFT
        elif name == "device":
            if value is not None and torch.device(value).type != "meta":
                return LEFT
        elif value:  # pinned memory
            return LEFT
    return _create_like(x)


def _compute_dropout(x: Any, p: float, train: Any) -> Any:
    if not _is_plain(x) or not train or not 0 < p < 1:
        return LEFT
    return _create_like(x), torch.empty(x.shape, dtype=torch.bool, device="meta")


def _compute_dropout_backward(gradient: Any, mask: Any, scale: float) -> Any:
    is_fitting = (
        _is_plain(gradient) and isinstance(mask, torch.Tensor)
        and mask.is_meta and mask.is_contiguous() and mask.shape == gradient.shape
    )  # fmt: skip
    return _create_like(gradient) if is_fitting else LEFT


def _multiply_matrices(bias: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    matrices = (bias, x, y)
    if kwargs or not all(isinstance(m, torch.Tensor) and m.is_meta for m in matrices):
        return LEFT
    if x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[0]:
        return LEFT
    if not x.is_floating_point() or not x.dtype == y.dtype == bias.dtype:
        return LEFT
    if any(m.layout is not torch.strided for m in matrices):
        return LEFT
    columns = y.shape[1]
    if bias.shape not in ((columns,), (x.shape[0], columns)):
        return LEFT
    return torch.empty(x.shape[0], columns, dtype=x.dtype, device="meta")


def _compute_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    count = len(shape)
    if not _is_plain(x) or not count or list(x.shape[-count:]) != list(shape):
        return LEFT
    if any(p is not None and list(p.shape) != list(shape) for p in (weight, bias)):
        return LEFT
    rows = [*x.shape[: x.dim() - count], *([1] * count)]
    dtype = torch.float32 if x.dtype in _HALF else x.dtype
    mean, scale = (torch.empty(rows, dtype=dtype, device="meta") for _ in range(2))
    return _create_like(x), mean, scale


def _compute_norm_backward(
    gradient: Any, x: Any, shape: Any, mean: Any, scale: Any,
    weight: Any, bias: Any, mask: Any,
) -> Any:  # fmt: skip
    if not (_is_plain(gradient) and _is_plain(x)) or gradient.shape != x.shape:
        return LEFT
    count, parameters = len(shape), (weight, bias)
    if not count or list(x.shape[-count:]) != list(shape) or not x.numel():
        return LEFT
    if gradient.dtype != x.dtype or count == x.dim():
        return LEFT
    if any(p is not None and not (_is_plain(p) and p.dtype == x.dtype)
           for p in parameters):  # fmt: skip
        return LEFT
    if any(
        wanted and p is None for wanted, p in zip(mask[1:], parameters, strict=True)
    ):
        return LEFT
    return tuple(
        _create_like(t) if wanted else None
        for wanted, t in zip(mask, (x, *parameters), strict=True)
    )


def _is_list_of(values: Any, model: Any) -> bool:
    return (
        isinstance(values, list | tuple)
        and len(values) == len(model)
        and all(
            _is_plain(x) and x.shape == y.shape and x.dtype == y.dtype
            for x, y in zip(values, model, strict=True)
        )
    )


def _update_lists(values: Any, *others: Any, **kwargs: Any) -> Any:
    """Answer for operators that write into a list of tensors: there is nothing to do.

    Lists of numbers are as long as those of tensors; tensors of one number are torch's.
    """
    if kwargs.keys() - {"value", "alpha"} or not _is_list_of(values, values):
        return LEFT
    for other in others:
        if isinstance(other, list | tuple):
            if len(other) != len(values):
                return LEFT
            is_numbers = all(isinstance(x, int | float) for x in other)
            if not is_numbers and not _is_list_of(other, values):
                return LEFT
        elif not isinstance(other, int | float):
            return LEFT
    return None


def _create_lists(values: Any) -> Any:
    if not _is_list_of(values, values):
        return LEFT
    return [_create_like(value) for value in values]


def _list_kernels() -> dict[Any, Kernel]:
    """Return the kernel of each operator that this version of torch has."""
    kernels: dict[Any, Kernel] = {}
    for names, kernel in (
        (_UNARY, _answer_unary),
        (_BINARY, _answer_binary),
        (_GRADIENTS, _answer_gradient),
        (_LIKE, _copy_plainly),
        (_LISTS_IN_PLACE, _update_lists),
        ("_foreach_sqrt", _create_lists),
        ("native_dropout", _compute_dropout),
        ("native_dropout_backward", _compute_dropout_backward),
        ("addmm", _multiply_matrices),
        ("native_layer_norm", _compute_norm),
        ("native_layer_norm_backward", _compute_norm_backward),
    ):
        for name in names.split():
            packet, _, overload = name.partition(".")
            func = getattr(getattr(_ATEN, packet, None), overload or "default", None)
            if func is not None:
                kernels[func] = kernel
    return kernels


_UNARY = (
    "gelu silu relu sigmoid tanh exp log sqrt rsqrt neg abs sin cos hardswish elu "
    "leaky_relu softplus pow.Tensor_Scalar mul.Scalar"
)
_BINARY = "add.Tensor sub.Tensor mul.Tensor div.Tensor"
_GRADIENTS = (
    "gelu_backward silu_backward threshold_backward sigmoid_backward tanh_backward "
    "hardswish_backward"
)
_LIKE = "zeros_like empty_like ones_like"
_LISTS_IN_PLACE = (
    "_foreach_add_.Scalar _foreach_add_.List _foreach_add_.ScalarList "
    "_foreach_sub_.Scalar _foreach_sub_.List _foreach_mul_.Scalar "
    "_foreach_mul_.List _foreach_mul_.ScalarList _foreach_div_.Scalar "
    "_foreach_div_.List _foreach_div_.ScalarList _foreach_sqrt_ _foreach_neg_ "
    "_foreach_lerp_.Scalar _foreach_lerp_.List _foreach_addcdiv_.Scalar "
    "_foreach_addcdiv_.ScalarList _foreach_addcmul_.Scalar "
    "_foreach_addcmul_.ScalarList _foreach_zero_"
)

_KERNELS = _list_kernels()
