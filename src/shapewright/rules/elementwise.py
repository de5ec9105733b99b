"""What elementwise rules share: the new output, the written output, the refusals."""

from __future__ import annotations

from typing import Any

from shapewright.rules.broadcasting import broadcast
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import KIND, KNOWN, NUMBERS
from shapewright.rules.strides import Strided, contiguous, is_dense, iterated, like

NUMBER: Strided = ((), ())
"""A Python number as an operand of `iterated`."""

KERNEL_DTYPE = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip
"""What torch's messages call dtypes: `"abs_cpu" not implemented for 'Bool'`."""

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
    """A tensor's (shape, stride), or those of a Python number."""
    return NUMBER if type(value) in NUMBERS else (value.shape, value.stride)


def promoted(value: Any, dtype: str) -> Strided:
    """The operand as the kernel iterates over it, after conversion to `dtype`."""
    if type(value) in NUMBERS:
        return NUMBER
    shape, stride = value.shape, value.stride
    if dtype and value.dtype != dtype and shape:
        stride = like(shape, stride)
    return shape, stride


def is_plain(*metas: Meta) -> bool:
    """Whether all are laid out in row-major order, and none is empty."""
    return all(
        0 not in meta.shape and meta.stride == contiguous(meta.shape) for meta in metas
    )


def likened(input: Meta, dtype: str, grad_fn: str | None) -> Made:
    """The output of a function that begins with `empty_like`."""
    return new(input.shape, dtype, like(input.shape, input.stride), grad_fn)


def new(shape: tuple[int, ...], dtype: str, stride: Any, grad_fn: str | None) -> Made:
    """A new tensor; integers and bools have no grad_fn."""
    return Made(shape, dtype, stride, grad_fn if KIND[dtype] >= 2 else "")


def unary(input: Meta, dtype: str, grad_fn: str | None, promoted: bool = True) -> Made:
    """The output of an elementwise op of one tensor.

    `promoted` says that the kernel first converts its input to the output's dtype.
    Example: relu of a channels-last (2, 3, 4, 4) float32 tensor is channels-last too.
    """
    shape, stride = input.shape, input.stride
    if promoted and input.dtype != dtype:
        stride = like(shape, stride)
    stride = iterated(shape, ((shape, stride),))
    return Made(shape, dtype, stride, grad_fn if KIND[dtype] >= 2 else "")


def pointwise(
    dtype: str, grad_fn: str | None, *operands: Any, common: str | None = None
) -> Made:
    """The output of an elementwise op of several tensors and numbers, broadcast.

    The kernel first converts operands to `common` (`dtype` if not given; "" for none).
    Example: shapes (8, 1, 5) and (3, 5) give (8, 3, 5). Raises `Misfit` otherwise.
    """
    inner = dtype if common is None else common
    strided = tuple([promoted(value, inner) for value in operands])
    shape = strided[0][0]
    for own, _ in strided:
        if own != shape:
            shape = broadcast(*[own for own, _ in strided])
            break
    stride = iterated(shape, strided)
    return Made(shape, dtype, stride, grad_fn if KIND[dtype] >= 2 else "")


def written(target: Meta, dtype: str, grad_fn: str | None, *others: Any) -> Made:
    """The tensor that an in-place op writes; refused where the result does not fit.

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
    """Refuses to write where several elements share one place in memory (`expand`)."""
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
    """What a CPU kernel says to a dtype that it lacks."""
    return Misfit(
        f"\"{kernel}\" not implemented for '{KERNEL_DTYPE[dtype]}'",
        "NotImplementedError",
    )
