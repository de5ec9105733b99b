"""Type promotion, broadcasting, and the new output of elementwise operators.

Mirrors `c10/core/ScalarType.cpp` (`promoteTypes`) and `ATen/native/TypeProperties.cpp`
(`result_type`): tensors with dims outrank 0-dim tensors, those outrank Python numbers,
and a lower rank matters only if its kind is higher: bool < integer < float < complex.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, Misfit, setting
from shapewright.sizes.strides import (
    Strided,
    compute_elementwise_strides,
    compute_strides_like,
    contiguous,
    is_dense,
)

NUMBERS = frozenset({bool, int, float, complex})
"""The exact types of Python numbers, for quick tests: `type(x) in NUMBERS`."""

_INTEGERS = ("int8", "int16", "int32", "int64")
_FLOATS = ("float16", "float32", "float64")

NUMBER_KIND = {bool: 0, int: 1, float: 2, complex: 3}
"""The `KIND` of a Python number, by its type."""

INTEGRAL = frozenset({"uint8", *_INTEGERS})
FLOATING = frozenset({"bfloat16", *_FLOATS})
COMPLEX = frozenset({"complex32", "complex64", "complex128"})
KNOWN = INTEGRAL | FLOATING | COMPLEX | {"bool"}
"""The dtypes that the rules cover; float8, uint16 and quantized are left to torch."""

KIND = {
    **dict.fromkeys(COMPLEX, 3),
    **dict.fromkeys(FLOATING, 2),
    **dict.fromkeys(INTEGRAL, 1),
    "bool": 0,
}
"""0 for bool, 1 for integers, 2 for floats, 3 for complex."""

TO_COMPLEX = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64",
              "float64": "complex128"}  # fmt: skip
TO_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def _promote(a: str, b: str) -> str:
    if a == b:
        return a
    if KIND[a] > KIND[b]:
        a, b = b, a
    if KIND[b] == 3:
        return _promote_complex(a, b)
    if KIND[a] != KIND[b]:
        return b
    if KIND[b] == 2:
        if {a, b} == {"float16", "bfloat16"}:
            return "float32"
        order: tuple[str, ...] = ("bfloat16", *_FLOATS)
    elif "uint8" in (a, b):
        signed = b if a == "uint8" else a
        return "int16" if signed == "int8" else signed
    else:
        order = _INTEGERS
    return max(a, b, key=order.index)


def _promote_complex(a: str, b: str) -> str:
    if KIND[a] < 2:
        return b
    if KIND[a] == 2:
        a = TO_COMPLEX[a]
    return max(a, b, key=lambda dtype: int(dtype.removeprefix("complex")))


_PROMOTED = {(a, b): _promote(a, b) for a in KNOWN for b in KNOWN}


def promote(a: str, b: str) -> str | None:
    """Return `torch.promote_types`: `promote("uint8", "int8") == "int16"`.

    None if a dtype is not one of `KNOWN`.
    """
    return _PROMOTED.get((a, b))


def number_dtype(number: bool | int | float | complex) -> str:
    """Return the dtype of a Python number, such as int64 or the default dtype."""
    kind = type(number)
    if kind is bool:
        return "bool"
    if kind is int:
        return "int64"
    if kind is float:
        return setting.default_dtype
    return TO_COMPLEX[setting.default_dtype]


def common(a: Any, b: Any) -> str | None:
    """Return the `result_type` of two operands, with a fast path for usual cases."""
    kind = type(b)
    if kind in NUMBERS:
        have: str = a.dtype
        if NUMBER_KIND[kind] <= KIND.get(have, -1):
            return have
    elif type(a) not in NUMBERS:
        have = a.dtype
        if have == b.dtype:
            return have if have in KNOWN else None
    return result_type(a, b)


def result_type(*operands: Any) -> str | None:
    """Return the `torch.result_type` of tensors and Python numbers.

    Example: an int64 tensor of shape (2, 3) with 1.5 gives the default dtype; a float16
    tensor of shape (2,) with a float64 tensor of shape () gives float16. None if a
    dtype is not one of `KNOWN`, or an operand is neither tensor nor number.
    """
    ranks: list[str | None] = [None, None, None]
    for operand in operands:
        if type(operand) in NUMBERS:
            rank, dtype = 2, number_dtype(operand)
        else:
            dtype = getattr(operand, "dtype", "")
            if dtype not in KNOWN:
                return None
            rank = 0 if operand.shape else 1
        have = ranks[rank]
        ranks[rank] = dtype if have is None else _PROMOTED[have, dtype]
    return _combined(ranks[0], _combined(ranks[1], ranks[2]))


def _combined(higher: str | None, lower: str | None) -> str | None:
    """Combine two dtypes; the lower one counts only if its kind is higher."""
    if higher is None or lower is None:
        return higher or lower
    if KIND[higher] >= 3:
        return higher
    if KIND[higher] == 2:
        return TO_COMPLEX[higher] if KIND[lower] == 3 else higher
    if KIND[higher] == 0 or KIND[lower] >= 2:
        return _PROMOTED[higher, lower]
    return higher


def floated(dtype: str) -> str:
    """Return a float or complex dtype unchanged, any other as the default dtype."""
    return dtype if KIND[dtype] >= 2 else setting.default_dtype


def can_cast(source: str, target: str) -> bool:
    """Return `torch.can_cast`: False for a cast to a lower kind; both `KNOWN`."""
    return KIND[source] <= KIND[target]


Shape = tuple[int, ...]


@lru_cache(4096)
def broadcast(*shapes: Shape) -> Shape:
    """Return the broadcast shape: `broadcast((8, 1, 5), (3, 5)) == (8, 3, 5)`.

    Raises `Misfit` with torch's message if two sizes differ and neither is 1.
    """
    result = shapes[0]
    for shape in shapes[1:]:
        if shape != result and shape:
            result = _pair(result, shape)
    return result


def _pair(a: Shape, b: Shape) -> Shape:
    ndim = max(len(a), len(b))
    long_a = (1,) * (ndim - len(a)) + a
    long_b = (1,) * (ndim - len(b)) + b
    sizes = [y if x == 1 else x for x, y in zip(long_a, long_b, strict=True)]
    for dim in range(ndim - 1, -1, -1):
        x, y = long_a[dim], long_b[dim]
        if x != y and x != 1 and y != 1:
            raise Misfit(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) "
                f"at non-singleton dimension {dim}"
            )
    return tuple(sizes)


def fits(target: Shape, shape: Shape) -> bool:
    """Return whether `shape` can be expanded to `target`: (3, 1) to (2, 3, 4)."""
    if len(shape) > len(target):
        return False
    ends = target[len(target) - len(shape) :]
    return all(size in (1, want) for size, want in zip(shape, ends, strict=True))


NUMBER: Strided = ((), ())
"""A Python number as an operand of `iterated`."""

KERNEL_DTYPE = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip
"""The names of dtypes in torch's messages: `"abs_cpu" not implemented for 'Bool'`."""

LETTER = {
    **dict.fromkeys(KNOWN, "i"),
    "bool": "b",
    "float16": "h",
    "bfloat16": "h",
    "float32": "f",
    "float64": "f",
    "complex32": "x",
    "complex64": "c",
    "complex128": "c",
}
"""Dtypes that kernels accept together: bool, integers, halves, floats, complex."""


def operand(value: Any) -> Strided:
    """Return the (shape, stride) of a tensor, or those of a Python number."""
    return NUMBER if type(value) in NUMBERS else (value.shape, value.stride)


def _promoted(value: Any, dtype: str) -> Strided:
    """Return the (shape, stride) that the kernel gets after conversion to `dtype`."""
    if type(value) in NUMBERS:
        return NUMBER
    shape, stride = value.shape, value.stride
    if dtype and value.dtype != dtype and shape:
        stride = compute_strides_like(shape, stride)
    return shape, stride


def is_plain(*metas: Meta) -> bool:
    """Return whether all tensors are in row-major order and none is empty."""
    return all(
        0 not in meta.shape and meta.stride == contiguous(meta.shape) for meta in metas
    )


def likened(input: Meta, dtype: str, grad_fn: str | None) -> Made:
    """Return the output of a function that allocates it by `empty_like`."""
    return new(
        input.shape, dtype, compute_strides_like(input.shape, input.stride), grad_fn
    )


def new(shape: tuple[int, ...], dtype: str, stride: Any, grad_fn: str | None) -> Made:
    """Return a new tensor; an integer or bool tensor has no grad_fn."""
    return Made(shape, dtype, stride, grad_fn if KIND[dtype] >= 2 else "")


def unary(input: Meta, dtype: str, grad_fn: str | None, promoted: bool = True) -> Made:
    """Return the output of an elementwise op of one tensor.

    `promoted` is True if the kernel first converts its input to the output's dtype.
    Example: relu of a channels-last (2, 3, 4, 4) float32 tensor is channels-last too.
    """
    shape, stride = input.shape, input.stride
    if promoted and input.dtype != dtype:
        stride = compute_strides_like(shape, stride)
    stride = compute_elementwise_strides(shape, ((shape, stride),))
    return Made(shape, dtype, stride, grad_fn if KIND[dtype] >= 2 else "")


def pointwise(
    dtype: str, grad_fn: str | None, *operands: Any, common: str | None = None
) -> Made:
    """Return the broadcast output of an elementwise op of tensors and numbers.

    The kernel first converts operands to `common` (`dtype` if not given; "" for none).
    Example: shapes (8, 1, 5) and (3, 5) give (8, 3, 5). Raises `Misfit` otherwise.
    """
    inner = dtype if common is None else common
    strided = tuple([_promoted(value, inner) for value in operands])
    shape = strided[0][0]
    for own, _ in strided:
        if own != shape:
            shape = broadcast(*[own for own, _ in strided])
            break
    stride = compute_elementwise_strides(shape, strided)
    return Made(shape, dtype, stride, grad_fn if KIND[dtype] >= 2 else "")


def written(target: Meta, dtype: str, grad_fn: str | None, *others: Any) -> Made:
    """Return the tensor that an in-place op writes; raise if the result doesn't fit.

    `dtype` is that of the result before it is written. `others` are the remaining
    operands. Example: (3,) cannot take the sum of (3,) and (2, 3).
    """
    no_overlap(target)
    shape = target.shape
    result = broadcast(shape, *[operand(value)[0] for value in others])
    if result != shape:
        raise Misfit(
            f"output with shape {list(shape)} doesn't match the broadcast shape "
            f"{list(result)}"
        )
    if KIND[dtype] > KIND[target.dtype]:
        raise Misfit(
            f"result type {KERNEL_DTYPE[dtype]} can't be cast to the desired output "
            f"type {KERNEL_DTYPE[target.dtype]}"
        )
    return new(shape, target.dtype, target.stride, grad_fn)


def no_overlap(target: Meta) -> None:
    """Raise an error for a write to elements that share memory (after `expand`)."""
    shape, stride = target.shape, target.stride
    if 0 not in stride or is_dense(shape, stride):
        return
    if any(step == 0 and size > 1 for size, step in zip(shape, stride, strict=True)):
        raise Misfit(
            "unsupported operation: more than one element of the written-to tensor "
            "refers to a single memory location. Please clone() the tensor before "
            "performing the operation."
        )


def not_implemented(kernel: str, dtype: str) -> Misfit:
    """Return the error of a CPU kernel that lacks a dtype."""
    return Misfit(
        f"\"{kernel}\" not implemented for '{KERNEL_DTYPE[dtype]}'",
        "NotImplementedError",
    )
