"""Metadata rules for linear and bilinear layers, grouped products, `tensordot`, `kron`
and `cross`.

Mirrors `aten/src/ATen/native/GroupedMMUtils.h`. torch's data-free kernel takes bfloat16
only; the CPU takes more. Rows of the result begin at multiples of 16 bytes.

Mirrors `aten/src/ATen/native/Linear.cpp`: one `addmm` over all rows where the input is
contiguous and the bias a row, else `matmul` and an addition in place.

Mirrors `tensordot` and `bilinear` in `aten/src/ATen/native/Linear.cpp`: one `mm` of the
dims that stay with those that go. What does not fit is left to torch.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.matmul.shapes import (
    NUMERIC,
    addmm,
    matmul,
    operand,
    product_flops,
    supported,
    transposed,
)
from shapewright.operators.metadata_rules import Made, Meta, Misfit, listed, rule
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KIND,
    KNOWN,
    broadcast,
    can_cast,
    fits,
    is_plain,
    promote,
)
from shapewright.sizes.strides import is_contiguous


def linear(input: Meta, weight: Meta, bias: Meta | None = None) -> Any:
    """Infer `input @ weight.T + bias`: (8, 16, 400), (120, 400) give (8, 16, 120)."""
    shape, matrix, dtype = input.shape, weight.shape, input.dtype
    if (
        shape
        and len(matrix) == 2
        and shape[-1] == matrix[1]
        and dtype == weight.dtype
        and dtype in NUMERIC
        and (bias is None or (bias.dtype == dtype and bias.shape == matrix[:1]))
    ):
        return Made((*shape[:-1], matrix[0]), dtype, None, _linear_grad_fn(input, bias))
    metas = (input, weight) if bias is None else (input, weight, bias)
    return _linear(input, weight, bias) if supported(*metas) else NotImplemented


def _linear_grad_fn(input: Meta, bias: Meta | None) -> str:
    ndim = len(input.shape)
    if bias is None:
        if ndim > 2:
            return "UnsafeViewBackward0"
        return "MmBackward0" if ndim == 2 else "SqueezeBackward4"
    if ndim == 2:
        return "AddmmBackward0"
    flat = is_contiguous(input.shape, input.stride) and _is_row(bias)
    return "ViewBackward0" if flat else "AddBackward0"


def _is_row(bias: Meta) -> bool:
    """Return whether linear may add this bias in one addmm over all rows."""
    shape = bias.shape
    if len(shape) != 1 and sum(size != 1 for size in shape) != 1:
        return False
    return is_contiguous(shape, bias.stride)


def _linear(input: Meta, weight: Meta, bias: Meta | None) -> Any:
    """Infer the output in the general case, and raise torch's errors."""
    shape, matrix = input.shape, weight.shape
    if not shape or not matrix:
        raise Misfit(
            "both arguments to linear need to be at least 1D, but they are "
            f"{len(shape)}D and {len(matrix)}D"
        )
    if len(matrix) > 2:
        raise Misfit(
            f"t() expects a tensor with <= 2 dimensions, but self is {len(matrix)}D"
        )
    turned = transposed(weight) if len(matrix) == 2 else weight
    if bias is None:
        return matmul(input, turned)
    if len(shape) == 2:
        return addmm(bias, input, turned)
    if is_contiguous(shape, input.stride) and _is_row(bias):
        rows = operand(input)._replace(shape=(prod(shape[:-1]), shape[-1]))
        output = addmm(bias, rows, turned)
        if output is NotImplemented:
            return output
        return Made((*shape[:-1], matrix[0]), output.dtype, None, "ViewBackward0")
    product = matmul(input, turned)
    return product if product is NotImplemented else _added(product, bias)


def _added(product: Made, bias: Meta) -> Any:
    """Infer the result of `product.add_(bias)`."""
    shape = broadcast(product.shape, bias.shape)
    if shape != product.shape:
        raise Misfit(
            f"output with shape {listed(product.shape)} doesn't match the broadcast "
            f"shape {listed(shape)}"
        )
    dtype = promote(product.dtype, bias.dtype)
    if dtype is None or not can_cast(dtype, product.dtype):
        return NotImplemented
    return Made(shape, product.dtype, None, "AddBackward0")


def _linear_flops(input: Meta, weight: Meta, bias: Meta | None = None) -> int:
    if len(weight.shape) == 1:
        return product_flops(input, weight)
    return 2 * prod(input.shape) * weight.shape[0]


rule(
    "torch.nn.functional.linear", "torch._C._nn.linear", flops=_linear_flops
)(linear)  # fmt: skip


SIZES = {"float32": 4, "bfloat16": 2, "float16": 2}
NAMES = {"float32": "float", "bfloat16": "c10::BFloat16", "float16": "c10::Half"}


def _flops(self: Meta, mat2: Meta, offs: Meta | None = None, *_: Any, **__: Any) -> int:
    """Count FLOPs; every row or column is multiplied by a single matrix."""
    left, right = self.shape, mat2.shape
    if len(left) == 2 and len(right) == 2:
        return 2 * left[0] * left[1] * right[1]
    batch = left[0] if len(left) == 3 and len(right) == 3 else 1
    return 2 * batch * left[-2] * left[-1] * right[-1]


@rule("torch._grouped_mm", "torch.nn.functional.grouped_mm", flops=_flops)
def grouped_mm(
    self: Meta,
    mat2: Meta,
    offs: Meta | None = None,
    bias: Meta | None = None,
    out_dtype: str | None = None,
) -> Any:
    """Infer the output: ``(S, K) x (E, K, N)`` with offsets gives ``(S, N)``."""
    left, right = self.shape, mat2.shape
    if self.dtype not in SIZES or mat2.dtype not in SIZES or bias is not None:
        return NotImplemented
    if len(left) not in (2, 3) or len(right) not in (2, 3):
        return NotImplemented
    if not (len(left) == 2 and len(right) == 2) and left[-1] != right[-2]:
        raise Misfit("contraction dimension of mat_a and mat_b must match")
    for matrix in (self, mat2):
        _check_strides(matrix)
    flat = len(left) == 2 or len(right) == 2
    if flat != (offs is not None):
        raise Misfit(
            "Have to provide offsets if there is a 2d matrix, or no offset if both "
            "matrices are 3d"
        )
    if offs is not None and (len(offs.shape) != 1 or offs.dtype != "int32"):
        return NotImplemented
    if self.dtype != mat2.dtype:
        raise Misfit(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{NAMES[self.dtype]} != {NAMES[mat2.dtype]}"
        )
    dtype = out_dtype or self.dtype
    if dtype not in SIZES:
        return NotImplemented
    return _made(left, right, offs, dtype)


def _check_strides(matrix: Meta) -> None:
    """Raise an error unless rows (or columns) begin at multiples of 16 bytes."""
    stride = matrix.stride[-2:]
    leading = stride[0] if stride[1] == 1 else stride[1]
    if leading * SIZES[matrix.dtype] % 16:
        raise Misfit("strides should be multiple of 16 bytes")


def _made(
    left: tuple[int, ...], right: tuple[int, ...], offs: Meta | None, dtype: str
) -> Any:
    rows, columns = left[-2], right[-1]
    if len(left) == 3 and len(right) == 3 and left[0] != right[0]:
        raise Misfit("batched dimension has to match")
    if offs is not None and len(left) == 3 and offs.shape[0] != left[0]:
        raise Misfit("matrix batch sizes have to match")
    if offs is not None and len(right) == 3 and offs.shape[0] != right[0]:
        raise Misfit("matrix batch sizes have to match")
    step = 16 // SIZES[dtype]
    padded = (columns + step - 1) // step * step
    if len(left) == len(right):
        groups = left[0] if offs is None else offs.shape[0]
        shape: tuple[int, ...] = (groups, rows, columns)
        stride: tuple[int, ...] = (rows * padded, padded, 1)
    else:
        shape, stride = (rows, columns), (padded, 1)
    return Made(shape, dtype, stride, "GroupedMmBackward0")


Shape = tuple[int, ...]
SUPPORTED = FLOATING | {"int64", "complex64", "complex128"}
"""The dtypes that a sum keeps: smaller integers become int64."""


def _paired(a: Meta, b: Meta, dims: Any) -> tuple[list[int], list[int]] | None:
    """Return the dims of each operand that are summed, or None if they do not fit."""
    ndim, other_ndim = len(a.shape), len(b.shape)
    if type(dims) is int:
        if not 0 <= dims <= min(ndim, other_ndim):
            return None
        return list(range(ndim - dims, ndim)), list(range(dims))
    if not isinstance(dims, tuple | list) or len(dims) != 2:
        return None
    if not all(isinstance(side, tuple | list) for side in dims):
        return None
    left, right = list(dims[0]), list(dims[1])
    if any(type(dim) is not int for dim in left + right) or len(left) != len(right):
        return None
    if any(not -ndim <= x < ndim for x in left) or any(
        not -other_ndim <= x < other_ndim for x in right
    ):
        return None
    left, right = [x % ndim for x in left], [x % other_ndim for x in right]
    if len(set(left)) < len(left) or len(set(right)) < len(right):
        return None
    return left, right


def _kept(a: Meta, b: Meta, pair: tuple[list[int], list[int]]) -> tuple[Shape, Shape]:
    return tuple(
        tuple(size for dim, size in enumerate(meta.shape) if dim not in gone)
        for meta, gone in zip((a, b), pair, strict=True)
    )  # type: ignore[return-value]


def _inner_size(a: Meta, b: Meta, pair: tuple[list[int], list[int]]) -> int | None:
    """Return the number of terms in each sum, or None if the sizes do not broadcast."""
    total = 1
    for dim, other_dim in zip(*pair, strict=True):
        have, want = a.shape[dim], b.shape[other_dim]
        if 1 not in (have, want):
            if have != want:
                return None
            total *= have
    return total


def _contracted(a: Meta, b: Meta, dims: Any) -> Any:
    if a.dtype != b.dtype or a.dtype not in SUPPORTED:
        return NotImplemented
    pair = _paired(a, b, dims)
    if pair is None or _inner_size(a, b, pair) is None:
        return NotImplemented
    left, right = _kept(a, b, pair)
    node = "ViewBackward0" if KIND[a.dtype] >= 2 else ""
    return Made((*left, *right), a.dtype, None, node)


def _tensordot_flops(a: Meta, b: Meta, dims: Any = 2, out: Any = None) -> int:
    pair = _paired(a, b, dims)
    assert pair is not None
    left, right = _kept(a, b, pair)
    if prod(left) == prod(right) == 1:
        return 0  # a dot, which torch does not count
    return 2 * prod(left) * prod(right) * (_inner_size(a, b, pair) or 0)


@rule("torch.tensordot", flops=_tensordot_flops)
def tensordot(a: Meta, b: Meta, dims: Any = 2, out: Any = None) -> Any:
    """Infer the output: `(2, 3, 4)` with (3, 4, 5) over two dims gives (2, 5)."""
    return NotImplemented if out is not None else _contracted(a, b, dims)


def _inner_flops(input: Meta, other: Meta, *, out: Any = None) -> int:
    return _tensordot_flops(input, other, ([-1], [-1]))


@rule("torch.inner", "torch.Tensor.inner", flops=_inner_flops)
def inner(input: Meta, other: Meta, *, out: Any = None) -> Any:
    """Infer the output: `(2, 3)` with (4, 3) gives (2, 4); sums over the last dim."""
    if out is not None or not input.shape or not other.shape:
        return NotImplemented
    if input.shape[-1] != other.shape[-1]:
        return NotImplemented
    return _contracted(input, other, ([-1], [-1]))


@rule("torch.vdot", "torch.Tensor.vdot")
def vdot(input: Meta, other: Meta, *, out: Any = None) -> Any:
    """Infer the output: two of (3,) give a 0-dim tensor."""
    if out is not None or input.dtype != other.dtype or input.dtype not in SUPPORTED:
        return NotImplemented
    if len(input.shape) != 1 or input.shape != other.shape:
        return NotImplemented
    return Made((), input.dtype, (), "VdotBackward0" if KIND[input.dtype] > 1 else "")


@rule("torch.kron", "torch.Tensor.kron")
def kron(input: Meta, other: Meta, *, out: Any = None) -> Any:
    """Infer the output: `(2, 3)` with (4, 5) gives (8, 15), blocks of the second."""
    dtype = promote(input.dtype, other.dtype)
    if out is not None or dtype is None or not is_plain(input, other):
        return NotImplemented
    if input.dtype != other.dtype:
        return NotImplemented
    ndim = max(len(input.shape), len(other.shape))
    sizes, other_sizes = (
        (1,) * (ndim - len(m.shape)) + m.shape for m in (input, other)
    )
    shape = tuple(a * b for a, b in zip(sizes, other_sizes, strict=True))
    return Made(shape, dtype, None, "UnsafeViewBackward0" if KIND[dtype] > 1 else "")


@rule("torch.addr", "torch.Tensor.addr")
def addr(
    input: Meta, vec1: Meta, vec2: Meta, *, beta: Any = 1, alpha: Any = 1,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer `input + vec1[:, None] * vec2`: (3, 4) with (3,) and (4,) gives (3, 4)."""
    if out is not None or not is_plain(input, vec1, vec2):
        return NotImplemented
    if input.dtype not in FLOATING or not input.dtype == vec1.dtype == vec2.dtype:
        return NotImplemented
    if len(vec1.shape) != 1 or len(vec2.shape) != 1 or (beta, alpha) != (1, 1):
        return NotImplemented
    shape = (*vec1.shape, *vec2.shape)
    if not fits(shape, input.shape):
        return NotImplemented
    return Made(shape, input.dtype, None, "AddrBackward0")


@rule("torch.nn.functional.bilinear", "torch.bilinear")
def bilinear(input1: Meta, input2: Meta, weight: Meta, bias: Meta | None = None) -> Any:
    """Infer the output: `(8, 3)`, (8, 4), weight (6, 3, 4) give (8, 6). No FLOPs."""
    left, right, matrix = input1.shape, input2.shape, weight.shape
    metas = (input1, input2, weight, *(() if bias is None else (bias,)))
    if input1.dtype not in FLOATING or any(m.dtype != input1.dtype for m in metas):
        return NotImplemented
    if (
        not left
        or len(left) != len(right)
        or left[:-1] != right[:-1]
        or len(matrix) != 3
    ):
        return NotImplemented
    if (left[-1], right[-1]) != matrix[1:] or any(0 in meta.shape for meta in metas):
        return NotImplemented
    if bias is not None and bias.shape != matrix[:1]:
        return NotImplemented
    node = "ViewBackward0" if bias is None else "AddBackward0"
    return Made((*left[:-1], matrix[0]), input1.dtype, None, node)


@rule("torch.linalg.vecdot")
def vecdot(x: Meta, y: Meta, *, dim: Any = -1, out: Any = None) -> Any:
    """Infer the output: `(8, 3)` with (8, 3) gives (8,), summed over one dim."""
    if out is not None or x.dtype != y.dtype or x.dtype not in FLOATING:
        return NotImplemented
    if not x.shape or not fits(broadcast(x.shape, y.shape), y.shape):
        return NotImplemented
    if x.shape != y.shape or type(dim) is not int or 0 in x.shape or len(x.shape) == 1:
        return NotImplemented
    ndim = len(x.shape)
    if not -ndim <= dim < ndim:
        return NotImplemented
    dim %= ndim
    return Made((*x.shape[:dim], *x.shape[dim + 1 :]), x.dtype, None, "SumBackward1")


@rule("torch.trace", "torch.Tensor.trace")
def trace(input: Meta) -> Any:
    """Infer the sum of a matrix's diagonal: (3, 4) gives a 0-dim tensor."""
    if len(input.shape) != 2 or input.dtype not in KNOWN or input.dtype == "bool":
        return NotImplemented
    if input.dtype in ("float16", "bfloat16"):
        return NotImplemented
    if KIND[input.dtype] < 2:
        return Made((), "int64", (), "")
    return Made((), input.dtype, (), "TraceBackward0")


def _crossed(input: Meta, other: Meta, dim: Any) -> Any:
    if input.dtype != other.dtype or input.dtype not in SUPPORTED:
        return NotImplemented
    if len(input.shape) != len(other.shape) or type(dim) is not int:
        return NotImplemented
    ndim = len(input.shape)
    if not -ndim <= dim < ndim or not input.shape[dim] == other.shape[dim] == 3:
        return NotImplemented
    node = "LinalgCrossBackward0" if KIND[input.dtype] > 1 else ""
    return Made(broadcast(input.shape, other.shape), input.dtype, None, node)


@rule("torch.cross", "torch.Tensor.cross")
def cross(input: Meta, other: Meta, dim: Any = None, *, out: Any = None) -> Any:
    """Infer (8, 3) of two of (8, 3); without `dim` torch warns: left to torch."""
    if out is not None or dim is None:
        return NotImplemented
    return _crossed(input, other, dim)


@rule("torch.linalg.cross")
def linalg_cross(input: Meta, other: Meta, *, dim: Any = -1, out: Any = None) -> Any:
    """Infer the output as `cross` does, over the last dim by default."""
    return NotImplemented if out is not None else _crossed(input, other, dim)
