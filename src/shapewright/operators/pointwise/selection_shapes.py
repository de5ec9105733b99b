"""Metadata rules that choose or mix elements: where, masked_fill, clamp, lerp."""

from __future__ import annotations

from typing import Any

from shapewright.operators.metadata_rules import rule
from shapewright.operators.promotion_and_broadcasting import (
    KIND,
    NUMBERS,
    broadcast,
    new,
    operand,
    pointwise,
    result_type,
    unary,
    written,
)
from shapewright.sizes.strides import (
    compute_elementwise_strides,
    compute_strides_like,
    contiguous,
)


@rule("torch.where")
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Infer `where`, with all three operands broadcast."""
    if input is None or other is None:
        return NotImplemented
    dtype = result_type(input, other)
    if dtype is None or condition.dtype not in ("bool", "uint8"):
        return NotImplemented
    strided = [
        _as(value, dtype) if type(value) not in NUMBERS else operand(value)
        for value in (condition, input, other)
    ]
    shape = broadcast(*[own for own, _ in strided])
    return new(
        shape, dtype, compute_elementwise_strides(shape, strided), "WhereBackward0"
    )


def _as(value: Any, dtype: str) -> Any:
    """Return shape and strides after conversion to `dtype`; bools are not converted."""
    if value.dtype in ("bool", dtype):
        return value.shape, value.stride
    return value.shape, compute_strides_like(value.shape, value.stride)


@rule("torch.Tensor.where")
def where_method(self: Any, condition: Any, other: Any) -> Any:
    """Infer `x.where(condition, other)`."""
    return where(condition, self, other)


_LIMITS = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38,
           "float32": 3.4028234663852886e38}  # fmt: skip
"""The largest numbers: `torch.finfo(dtype).min` is what masks are filled with."""


def storable(dtype: str, value: Any) -> bool:
    """Return whether the number is known to fit the dtype; if not, torch decides."""
    if type(value) not in NUMBERS:
        return KIND.get(value.dtype, 3) <= KIND[dtype]
    if KIND[dtype] == 2:
        limit = _LIMITS.get(dtype, 1e308)
        return type(value) is not complex and (
            abs(value) <= limit or value in (float("inf"), float("-inf"))
        )
    return type(value) in (bool, int) and 0 <= value < (2 if dtype == "bool" else 128)


def _fills(input: Any, mask: Any, value: Any) -> bool:
    if input.dtype not in KIND or KIND[input.dtype] == 3 or mask.dtype != "bool":
        return False
    if type(value) not in NUMBERS and getattr(value, "shape", None) != ():
        return False
    return storable(input.dtype, value)


@rule("torch.masked_fill", "torch.Tensor.masked_fill")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """Infer a contiguous copy with `value` where the mask holds."""
    if not _fills(input, mask, value):
        return NotImplemented
    shape = broadcast(mask.shape, input.shape)
    number = type(value) in NUMBERS
    grad_fn = f"MaskedFillBackward{0 if number else 1}"
    return new(shape, input.dtype, contiguous(shape), grad_fn)


@rule("torch.Tensor.masked_fill_", writes=0)
def masked_fill_in_place(input: Any, mask: Any, value: Any) -> Any:
    """Infer `masked_fill` written to its argument, to which the mask must expand."""
    if not _fills(input, mask, value):
        return NotImplemented
    number = type(value) in NUMBERS
    if broadcast(input.shape, mask.shape) != input.shape:
        return NotImplemented
    grad_fn = f"MaskedFillBackward{0 if number else 1}"
    return new(input.shape, input.dtype, input.stride, grad_fn)


def _bounds(minimum: Any, maximum: Any) -> tuple[Any, ...]:
    return tuple(bound for bound in (minimum, maximum) if bound is not None)


def _clamp_dtype(input: Any, bounds: tuple[Any, ...]) -> str | None:
    dtype = result_type(input, *bounds)
    if dtype is None or KIND[dtype] not in (1, 2) or input.dtype == "bool":
        return None
    return dtype


def _clamped(input: Any, bounds: tuple[Any, ...], grads: tuple[str, str]) -> Any:
    dtype = _clamp_dtype(input, bounds) if bounds else None
    if dtype is None:
        return NotImplemented
    numbers = [type(bound) in NUMBERS for bound in bounds]
    if all(numbers):
        return unary(input, dtype, grads[0])
    if any(numbers):
        return NotImplemented
    return pointwise(dtype, grads[1], input, *bounds)


def _clamped_in_place(input: Any, bounds: Any, grads: tuple[str, str]) -> Any:
    dtype = _clamp_dtype(input, bounds) if bounds else None
    if dtype is None:
        return NotImplemented
    numbers = [type(bound) in NUMBERS for bound in bounds]
    if all(numbers):
        if KIND[dtype] > KIND[input.dtype]:
            return NotImplemented
        return written(input, dtype, grads[0])
    return NotImplemented if any(numbers) else written(input, dtype, grads[1], *bounds)


_CLAMP = ("ClampBackward1", "ClampBackward0")
_CLAMP_MIN = ("ClampMinBackward0", "ClampMinBackward1")
_CLAMP_MAX = ("ClampMaxBackward0", "ClampMaxBackward1")


@rule("torch.clamp", "torch.Tensor.clamp", "torch.clip", "torch.Tensor.clip")
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Infer `clamp`; its bounds are numbers or broadcast tensors; floats promote."""
    return (
        NotImplemented
        if out is not None
        else _clamped(input, _bounds(min, max), _CLAMP)
    )


@rule(
    "torch.clamp_", "torch.Tensor.clamp_", "torch.clip_", "torch.Tensor.clip_", writes=0
)
def clamp_in_place(input: Any, min: Any = None, max: Any = None) -> Any:
    """Infer `clamp` written to its argument."""
    return _clamped_in_place(input, _bounds(min, max), _CLAMP)


@rule("torch.clamp_min", "torch.Tensor.clamp_min")
def clamp_min(input: Any, min: Any) -> Any:
    """Infer `clamp` with a lower bound only."""
    return _clamped(input, (min,), _CLAMP_MIN)


@rule("torch.clamp_max", "torch.Tensor.clamp_max")
def clamp_max(input: Any, max: Any) -> Any:
    """Infer `clamp` with an upper bound only."""
    return _clamped(input, (max,), _CLAMP_MAX)


@rule("torch.Tensor.clamp_min_", "torch.clamp_min_", writes=0)
def clamp_min_in_place(input: Any, min: Any) -> Any:
    """Infer `clamp_min` written to its argument."""
    return _clamped_in_place(input, (min,), _CLAMP_MIN)


@rule("torch.Tensor.clamp_max_", "torch.clamp_max_", writes=0)
def clamp_max_in_place(input: Any, max: Any) -> Any:
    """Infer `clamp_max` written to its argument."""
    return _clamped_in_place(input, (max,), _CLAMP_MAX)


def _mixable(*tensors: Any) -> str | None:
    """Return the dtype that all tensors share if it is a float, else None."""
    first = getattr(tensors[0], "dtype", "")
    same = all(getattr(value, "dtype", "") == first for value in tensors)
    return first if same and KIND.get(first) == 2 else None


def _three(grad_fn: str) -> None:
    name = grad_fn.removesuffix("Backward0").lower()

    def made(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        dtype = _mixable(input, tensor1, tensor2)
        if dtype is None or type(value) not in (int, float):
            return NotImplemented
        return pointwise(dtype, grad_fn, input, tensor1, tensor2)

    def wrote(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        dtype = _mixable(input, tensor1, tensor2)
        if dtype is None or type(value) not in (int, float):
            return NotImplemented
        return written(input, dtype, grad_fn, tensor1, tensor2)

    rule(f"torch.{name}", f"torch.Tensor.{name}")(made)
    rule(f"torch.Tensor.{name}_", writes=0)(wrote)


_three("AddcmulBackward0")
_three("AddcdivBackward0")


@rule("torch.lerp", "torch.Tensor.lerp")
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Infer `input + weight * (end - input)`."""
    number = type(weight) in (int, float)
    dtype = _mixable(input, end) if number else _mixable(input, end, weight)
    if dtype is None:
        return NotImplemented
    if number:
        return pointwise(dtype, "LerpBackward0", input, end)
    return pointwise(dtype, "LerpBackward1", input, end, weight)


@rule("torch.Tensor.lerp_", writes=0)
def lerp_in_place(input: Any, end: Any, weight: Any) -> Any:
    """Infer `lerp` written to its argument."""
    number = type(weight) in (int, float)
    dtype = _mixable(input, end) if number else _mixable(input, end, weight)
    if dtype is None:
        return NotImplemented
    if number:
        return written(input, dtype, "LerpBackward0", end)
    return written(input, dtype, "LerpBackward1", end, weight)
