"""Metadata rules for matrix products: matmul, mm, bmm, mv, dot, addmm and so on.

Mirrors `aten/src/ATen/native/LinearAlgebra.cpp`: a product of more than two dims
becomes one `_mm` if the larger operand folds into a matrix without a copy, or if the
smaller one requires grad, else one `_bmm`. The path decides the grad_fn and the error
message. Results are contiguous, with one exception (`_folded`).
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from shapewright.operators.metadata_rules import (
    C_TYPE,
    SCALAR_TYPE,
    Made,
    Meta,
    Misfit,
    listed,
    rule,
    unsupported,
)
from shapewright.operators.promotion_and_broadcasting import (
    KNOWN,
    broadcast,
    fits,
    promote,
)
from shapewright.sizes.strides import contiguous, is_contiguous

Shape = tuple[int, ...]

NUMERIC = frozenset({"float32", "float64", "bfloat16", "float16", "int64", "int32",
                     "int16", "int8", "uint8", "complex64",
                     "complex128"})  # fmt: skip
"""The dtypes that matrix kernels take on the CPU."""


class Operand(NamedTuple):
    """A tensor inside a rule: an argument, possibly transposed or folded."""

    shape: Shape
    stride: Shape
    dtype: str
    device: str
    requires_grad: bool


def operand(meta: Meta) -> Operand:
    """Return the argument as an operand."""
    return Operand(meta.shape, meta.stride, meta.dtype, meta.device, meta.requires_grad)


def transposed(meta: Meta) -> Operand:
    """Return the matrices transposed: the last two dims swapped."""
    shape, stride = meta.shape, meta.stride
    return Operand(
        (*shape[:-2], shape[-1], shape[-2]),
        (*stride[:-2], stride[-1], stride[-2]),
        meta.dtype,
        meta.device,
        meta.requires_grad,
    )


def _folds(first: Meta, second: Meta) -> bool:
    """Return whether matmul computes the product as a single mm: `should_fold`."""
    left, right = first.shape, second.shape
    if max(len(left), len(right)) < 3 or min(len(left), len(right)) > 2:
        return False
    larger_first = len(left) >= len(right)
    if (second if larger_first else first).requires_grad:
        return True
    if len(left) == 2:
        return False
    larger = first if larger_first else transposed(second)
    shape, stride = larger.shape, larger.stride
    if 0 in shape:
        return True
    return all(
        stride[dim] == stride[dim + 1] * shape[dim + 1] for dim in range(len(shape) - 2)
    )


def _dot(input: Meta, tensor: Meta) -> Any:
    """Infer the product of two vectors: `_dot((3,), (3,))` gives a 0-dim tensor."""
    left, right = input.shape, tensor.shape
    if len(left) != 1 or len(right) != 1:
        raise Misfit(
            f"1D tensors expected, but got {len(left)}D and {len(right)}D tensors"
        )
    if input.dtype != tensor.dtype:
        raise Misfit(
            "dot : expected both vectors to have same dtype, but found "
            f"{SCALAR_TYPE[input.dtype]} and {SCALAR_TYPE[tensor.dtype]}"
        )
    if left != right:
        raise Misfit(
            f"inconsistent tensor size, expected tensor {listed(left)} and src "
            f"{listed(right)} to have the same number of elements, but got {left[0]}"
            f" and {right[0]} elements respectively"
        )
    if input.dtype == "bool":
        raise unsupported("dot", "bool")
    return Made((), input.dtype, (), "DotBackward0")


def _mv(input: Meta, vec: Meta) -> Any:
    """Infer a matrix times a vector: `_mv((2, 3), (3,))` gives (2,)."""
    matrix, vector = input.shape, vec.shape
    if not matrix:
        raise Misfit(
            "Dimension specified as 0 but tensor has no dimensions", "IndexError"
        )
    if len(matrix) != 2 or len(vector) != 1:
        raise Misfit(
            f"vector + matrix @ vector expected, got 1, {len(matrix)}, {len(vector)}"
        )
    if matrix[1] != vector[0]:
        raise Misfit(
            f"size mismatch, got input ({matrix[0]}), mat ({matrix[0]}x{matrix[1]}), "
            f"vec ({vector[0]})"
        )
    if input.dtype != vec.dtype:
        dtype, vec_dtype = SCALAR_TYPE[input.dtype], SCALAR_TYPE[vec.dtype]
        raise Misfit(
            "addmv input tensors must have the same dtype, but got "
            f"{vec_dtype}, {dtype}, and {vec_dtype}"
        )
    if input.dtype == "bool" and 0 not in matrix:
        raise unsupported("addmv_impl_cpu", "bool")
    return Made((matrix[0],), input.dtype, None, "MvBackward0")


def _mm(input: Meta, mat2: Meta) -> Any:
    """Infer the product of two matrices: `_mm((2, 3), (3, 5))` gives (2, 5)."""
    left, right = input.shape, mat2.shape
    if len(left) != 2:
        raise Misfit("self must be a matrix")
    if len(right) != 2:
        raise Misfit("mat2 must be a matrix")
    if left[1] != right[0]:
        raise Misfit(
            f"mat1 and mat2 shapes cannot be multiplied ({left[0]}x{left[1]} and "
            f"{right[0]}x{right[1]})"
        )
    if input.dtype != mat2.dtype:
        raise Misfit(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{C_TYPE[input.dtype]} != {C_TYPE[mat2.dtype]}"
        )
    shape = (left[0], right[1])
    if input.dtype == "bool" and 0 not in shape and left[1]:
        raise unsupported("addmm_impl_cpu_", "bool")
    return Made(shape, input.dtype, None, "MmBackward0")


def _bmm(input: Meta, mat2: Meta) -> Any:
    """Infer a batched product: `_bmm((8, 2, 3), (8, 3, 5))` gives (8, 2, 5)."""
    left, right = input.shape, mat2.shape
    if len(left) != 3:
        raise Misfit("batch1 must be a 3D tensor")
    if len(right) != 3:
        raise Misfit("batch2 must be a 3D tensor")
    if left[0] != right[0] or left[2] != right[1]:
        raise Misfit(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{left[0]}, {left[2]}] but got: [{right[0]}, {right[1]}]."
        )
    shape = (left[0], left[1], right[2])
    if input.dtype != mat2.dtype or input.dtype == "bool":
        _check_batch_dtypes(
            input, mat2, prod(shape[1:]) * left[2], 0 in (*shape, left[2])
        )
    return Made(shape, input.dtype, None, "BmmBackward0")


class _Unknown(Exception):
    """Raised for a call whose result is left to torch."""


def _check_batch_dtypes(input: Meta, mat2: Meta, work: int, empty: bool) -> None:
    """Raise torch's dtype error; small products use a kernel with its own message."""
    if empty:
        if input.dtype == mat2.dtype:
            return
        raise _Unknown
    if input.dtype == "bool":
        raise unsupported("bmm" if work < 400 else "addmm_impl_cpu_", "bool")
    raise Misfit(
        f"expected scalar type {SCALAR_TYPE[input.dtype]} but found "
        f"{SCALAR_TYPE[mat2.dtype]}"
    )


def matmul(input: Meta, other: Meta) -> Any:
    """Infer `input @ other`: `matmul((8, 1, 2, 3), (4, 3, 5))` gives (8, 4, 2, 5)."""
    shape, other_shape = input.shape, other.shape
    dtype = input.dtype
    if (
        len(shape) == len(other_shape) > 2
        and shape[:-2] == other_shape[:-2]
        and shape[-1] == other_shape[-2]
        and dtype == other.dtype
        and dtype in NUMERIC
    ):
        return Made((*shape[:-1], other_shape[-1]), dtype, None, "UnsafeViewBackward0")
    if dtype not in KNOWN or other.dtype not in KNOWN:
        return NotImplemented
    if "complex32" in (dtype, other.dtype):
        return NotImplemented
    if not shape or not other_shape:
        raise Misfit(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{len(shape)}D and {len(other_shape)}D"
        )
    if len(shape) <= 2 and len(other_shape) <= 2:
        return _of_matrices(input, other)
    if _folds(input, other):
        return _folded(input, other)
    try:
        return _batched(input, other)
    except _Unknown:
        return NotImplemented


def _of_matrices(input: Meta, other: Meta) -> Any:
    left, right = input.shape, other.shape
    if len(left) == 2:
        return _mm(input, other) if len(right) == 2 else _mv(input, other)
    if len(right) == 1:
        return _dot(input, other)
    row = operand(input)._replace(shape=(1, *left))
    product = _mm(row, other)
    return Made(product.shape[1:], product.dtype, None, "SqueezeBackward4")


def _folded(input: Meta, other: Meta) -> Any:
    """Infer the output of a single mm.

    If the larger operand is the second, the result is transposed and copied, unless the
    transposed result is already contiguous.
    """
    swapped = len(other.shape) > len(input.shape)
    large, small = (transposed(other), input) if swapped else (operand(input), other)
    *rows, inner = large.shape
    folded = large._replace(shape=(prod(rows), inner))
    if len(small.shape) == 1:
        _mv(folded, small)
        return Made(tuple(rows), input.dtype, None, "UnsafeViewBackward0")
    if not swapped:
        product = _mm(folded, small)
        shape = (*rows, product.shape[1])
        return Made(shape, input.dtype, None, "UnsafeViewBackward0")
    product = _mm(folded, transposed(small))
    shape = (*rows, product.shape[1])
    turned = transposed(operand(input)._replace(shape=shape, stride=contiguous(shape)))
    if is_contiguous(turned.shape, turned.stride):
        return Made(turned.shape, input.dtype, turned.stride, "TransposeBackward0")
    return Made(turned.shape, input.dtype, None, "CloneBackward0")


def _batched(input: Meta, other: Meta) -> Any:
    first, second = input.shape, other.shape
    if len(first) == len(second) == 3 and first[0] != second[0]:
        if first[0] == 1 and input.requires_grad:
            return matmul(_without_batch(input), other)
        if second[0] == 1 and other.requires_grad:
            return matmul(input, _without_batch(other))
    batch = broadcast(first[:-2], second[:-2])
    left = first[-2:] if len(first) > 1 else (1, *first)
    right = second[-2:] if len(second) > 1 else (*second, 1)
    size = prod(batch)
    _bmm(
        operand(input)._replace(shape=(size, *left)),
        operand(other)._replace(shape=(size, *right)),
    )
    shape = (*batch, *left[:1][: len(first) - 1], *right[1:][: len(second) - 1])
    return Made(shape, input.dtype, None, "UnsafeViewBackward0")


def _without_batch(meta: Meta) -> Operand:
    return operand(meta)._replace(shape=meta.shape[1:], stride=meta.stride[1:])


def product_flops(input: Meta, other: Meta) -> int:
    """Count two FLOPs for each multiply-add; as in torch, none for `_mv` and `_dot`."""
    first, second = input.shape, other.shape
    if len(first) == len(second) == 1:
        return 0
    if len(second) == 1 and (len(first) == 2 or _folds(input, other)):
        return 0
    if len(first) == 1 and len(second) > 2 and _folds(input, other):
        return 0
    left = first[-2] if len(first) > 1 else 1
    right = second[-1] if len(second) > 1 else 1
    batch = prod(broadcast(first[:-2], second[:-2]))
    return 2 * batch * left * first[-1] * right


rule(
    "torch.matmul", "torch.Tensor.matmul", "torch.Tensor.__matmul__",
    "torch.linalg.matmul",
    flops=product_flops,
)(matmul)  # fmt: skip


@rule("torch.Tensor.__rmatmul__", flops=lambda self, other: product_flops(other, self))
def rmatmul(self: Meta, other: Meta) -> Any:
    """Infer the output of the reflected `@`: `other @ self`."""
    return matmul(other, self)


def supported(*metas: Meta) -> bool:
    """Return whether the rules in this file cover all given dtypes."""
    return all(m.dtype in NUMERIC or m.dtype == "bool" for m in metas)


@rule(
    "torch.mm", "torch.Tensor.mm", flops=lambda input, mat2: product_flops(input, mat2)
)
def mm_rule(input: Meta, mat2: Meta) -> Any:
    """Infer the output of `torch.mm`."""
    return _mm(input, mat2) if supported(input, mat2) else NotImplemented


@rule("torch.bmm", "torch.Tensor.bmm",
      flops=lambda input, mat2: product_flops(input, mat2))  # fmt: skip
def bmm_rule(input: Meta, mat2: Meta) -> Any:
    """Infer the output of `torch.bmm`."""
    try:
        return _bmm(input, mat2) if supported(input, mat2) else NotImplemented
    except _Unknown:
        return NotImplemented


@rule("torch.mv", "torch.Tensor.mv")
def mv_rule(input: Meta, vec: Meta) -> Any:
    """Infer the output of `torch.mv`."""
    return _mv(input, vec) if supported(input, vec) else NotImplemented


@rule("torch.dot", "torch.Tensor.dot")
def dot_rule(input: Meta, tensor: Meta) -> Any:
    """Infer the output of `torch.dot`."""
    return _dot(input, tensor) if supported(input, tensor) else NotImplemented


def _expanded(have: Shape, want: Shape, dtype: str) -> None:
    """Raise the error of `expand` if the shape `have` cannot be expanded to `want`."""
    if len(have) > len(want):
        raise Misfit(
            f"expand(torch.{SCALAR_TYPE[dtype]}Tensor{{{listed(have)}}}, "
            f"size={listed(want)}): the number of sizes provided ({len(want)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    if fits(want, have):
        return
    ahead = len(want) - len(have)
    for dim in range(len(want) - 1, ahead - 1, -1):
        size = have[dim - ahead]
        if size not in (1, want[dim]):
            raise Misfit(
                f"The expanded size of the tensor ({want[dim]}) must match the "
                f"existing size ({size}) at non-singleton dimension {dim}.  Target "
                f"sizes: {listed(want)}.  Tensor sizes: {listed(have)}"
            )


def addmm(input: Meta, mat1: Meta, mat2: Meta, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Infer `input + mat1 @ mat2`: `addmm((5,), (2, 3), (3, 5))` gives (2, 5)."""
    left, right = mat1.shape, mat2.shape
    if not supported(input, mat1, mat2):
        return NotImplemented
    if input.dtype != mat2.dtype:
        raise _differ("self", input, mat2)
    if mat1.dtype != mat2.dtype:
        raise _differ("mat1", mat1, mat2)
    if len(left) != 2:
        raise Misfit(f"mat1 must be a matrix, got {len(left)}-D tensor")
    if len(right) != 2:
        raise Misfit(f"mat2 must be a matrix, got {len(right)}-D tensor")
    if left[1] != right[0]:
        raise Misfit(
            f"mat1 and mat2 shapes cannot be multiplied ({left[0]}x{left[1]} and "
            f"{right[0]}x{right[1]})"
        )
    shape = (left[0], right[1])
    _expanded(input.shape, shape, input.dtype)
    if input.dtype == "bool":
        return NotImplemented
    return Made(shape, input.dtype, None, "AddmmBackward0")


def _differ(word: str, tensor: Meta, mat2: Meta) -> Misfit:
    return Misfit(
        f"{word} and mat2 must have the same dtype, but got "
        f"{SCALAR_TYPE[tensor.dtype]} and {SCALAR_TYPE[mat2.dtype]}"
    )


rule(
    "torch.addmm", "torch.Tensor.addmm",
    flops=lambda input, mat1, mat2, **_: product_flops(mat1, mat2),
)(addmm)  # fmt: skip


@rule(
    "torch.baddbmm",
    "torch.Tensor.baddbmm",
    flops=lambda input, batch1, batch2, **_: product_flops(batch1, batch2),
)
def baddbmm(
    input: Meta, batch1: Meta, batch2: Meta, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Infer `input + batch1 @ batch2`: (5,), (8, 2, 3), (8, 3, 5) give (8, 2, 5)."""
    if not supported(input, batch1, batch2) or input.dtype == "bool":
        return NotImplemented
    if not input.dtype == batch1.dtype == batch2.dtype:
        return NotImplemented
    if len(batch1.shape) != 3 or len(batch2.shape) != 3:
        return NotImplemented
    shape = (*batch1.shape[:2], batch2.shape[2])
    _expanded(input.shape, shape, input.dtype)
    _bmm(batch1, batch2)
    return Made(shape, input.dtype, None, "BaddbmmBackward0")


@rule("torch.addbmm", "torch.Tensor.addbmm")
def addbmm(
    input: Meta, batch1: Meta, batch2: Meta, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Infer `input + (batch1 @ batch2).sum(0)`: (5,), (8, 2, 3), (8, 3, 5): (2, 5)."""
    left, right = batch1.shape, batch2.shape
    same = input.dtype == batch1.dtype == batch2.dtype
    if not same or input.dtype not in NUMERIC or len(left) != 3 or len(right) != 3:
        return NotImplemented
    shape = (left[1], right[2])
    if left[0] != right[0] or left[2] != right[1] or not fits(shape, input.shape):
        return NotImplemented
    if 0 in left or 0 in right:
        return NotImplemented
    return Made(shape, input.dtype, None, "AddbmmBackward0")


@rule("torch.addmv", "torch.Tensor.addmv")
def addmv(input: Meta, mat: Meta, vec: Meta, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Infer `input + mat @ vec`: `addmv((2,), (2, 3), (3,))` gives (2,)."""
    matrix, vector = mat.shape, vec.shape
    if not input.dtype == mat.dtype == vec.dtype or input.dtype not in NUMERIC:
        return NotImplemented
    if len(matrix) != 2 or len(vector) != 1 or matrix[1] != vector[0]:
        return NotImplemented
    if input.shape not in ((matrix[0],), (1,), ()):
        return NotImplemented
    return Made((matrix[0],), input.dtype, None, "AddmvBackward0")


@rule("torch.outer", "torch.Tensor.outer", "torch.ger", "torch.Tensor.ger")
def outer(input: Meta, vec2: Meta) -> Any:
    """Infer all products of two vectors: `outer((3,), (4,))` gives (3, 4)."""
    first, second = input.shape, vec2.shape
    for word, shape in (("self", first), ("vec2", second)):
        if len(shape) != 1:
            raise Misfit(f"outer: Expected 1-D argument {word}, but got {len(shape)}-D")
    dtype = promote(input.dtype, vec2.dtype)
    if dtype is None:
        return NotImplemented
    return Made((*first, *second), dtype, None, "MulBackward0")
