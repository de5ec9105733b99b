"""Products summed over chosen dims, and products of all with all.

Mirrors `tensordot` and `bilinear` in `aten/src/ATen/native/Linear.cpp`: one `mm` of the
dims that stay with those that go. What does not fit is left to torch.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.broadcasting import broadcast, fits
from shapewright.rules.elementwise import is_plain
from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING, KIND, KNOWN, promote
from shapewright.rules.registry import rule

Shape = tuple[int, ...]
SUPPORTED = FLOATING | {"int64", "complex64", "complex128"}
"""The dtypes that a sum leaves as they are: smaller integers become int64."""


def _paired(a: Meta, b: Meta, dims: Any) -> tuple[list[int], list[int]] | None:
    """The dims that go, of each operand; None where they don't fit."""
    one, two = len(a.shape), len(b.shape)
    if type(dims) is int:
        if not 0 <= dims <= min(one, two):
            return None
        return list(range(one - dims, one)), list(range(dims))
    if not isinstance(dims, tuple | list) or len(dims) != 2:
        return None
    if not all(isinstance(side, tuple | list) for side in dims):
        return None
    left, right = list(dims[0]), list(dims[1])
    if any(type(dim) is not int for dim in left + right) or len(left) != len(right):
        return None
    if any(not -one <= x < one for x in left) or any(
        not -two <= x < two for x in right
    ):
        return None
    left, right = [x % one for x in left], [x % two for x in right]
    if len(set(left)) < len(left) or len(set(right)) < len(right):
        return None
    return left, right


def _kept(a: Meta, b: Meta, pair: tuple[list[int], list[int]]) -> tuple[Shape, Shape]:
    return tuple(
        tuple(size for dim, size in enumerate(meta.shape) if dim not in gone)
        for meta, gone in zip((a, b), pair, strict=True)
    )  # type: ignore[return-value]


def _inner_size(a: Meta, b: Meta, pair: tuple[list[int], list[int]]) -> int | None:
    """Elements in each sum; a size of 1 broadcasts. None where sizes differ."""
    total = 1
    for one, two in zip(*pair, strict=True):
        have, want = a.shape[one], b.shape[two]
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
    """`(2, 3, 4)` with (3, 4, 5) over two dims gives (2, 5)."""
    return NotImplemented if out is not None else _contracted(a, b, dims)


def _inner_flops(input: Meta, other: Meta, *, out: Any = None) -> int:
    return _tensordot_flops(input, other, ([-1], [-1]))


@rule("torch.inner", "torch.Tensor.inner", flops=_inner_flops)
def inner(input: Meta, other: Meta, *, out: Any = None) -> Any:
    """`(2, 3)` with (4, 3) gives (2, 4): sums over the last dims."""
    if out is not None or not input.shape or not other.shape:
        return NotImplemented
    if input.shape[-1] != other.shape[-1]:
        return NotImplemented
    return _contracted(input, other, ([-1], [-1]))


@rule("torch.vdot", "torch.Tensor.vdot")
def vdot(input: Meta, other: Meta, *, out: Any = None) -> Any:
    """Two of (3,) give a 0-dim tensor."""
    if out is not None or input.dtype != other.dtype or input.dtype not in SUPPORTED:
        return NotImplemented
    if len(input.shape) != 1 or input.shape != other.shape:
        return NotImplemented
    return Made((), input.dtype, (), "VdotBackward0" if KIND[input.dtype] > 1 else "")


@rule("torch.kron", "torch.Tensor.kron")
def kron(input: Meta, other: Meta, *, out: Any = None) -> Any:
    """`(2, 3)` with (4, 5) gives (8, 15): a copy of the second for each element."""
    dtype = promote(input.dtype, other.dtype)
    if out is not None or dtype is None or not is_plain(input, other):
        return NotImplemented
    if input.dtype != other.dtype:
        return NotImplemented
    ndim = max(len(input.shape), len(other.shape))
    one, two = ((1,) * (ndim - len(m.shape)) + m.shape for m in (input, other))
    shape = tuple(a * b for a, b in zip(one, two, strict=True))
    return Made(shape, dtype, None, "UnsafeViewBackward0" if KIND[dtype] > 1 else "")


@rule("torch.addr", "torch.Tensor.addr")
def addr(
    input: Meta, vec1: Meta, vec2: Meta, *, beta: Any = 1, alpha: Any = 1,
    out: Any = None,
) -> Any:  # fmt: skip
    """`input + vec1[:, None] * vec2`: (3, 4) with (3,) and (4,) gives (3, 4)."""
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
    """`(8, 3)` and (8, 4) with a weight (6, 3, 4) give (8, 6). No FLOPs."""
    one, two, matrix = input1.shape, input2.shape, weight.shape
    metas = (input1, input2, weight, *(() if bias is None else (bias,)))
    if input1.dtype not in FLOATING or any(m.dtype != input1.dtype for m in metas):
        return NotImplemented
    if not one or len(one) != len(two) or one[:-1] != two[:-1] or len(matrix) != 3:
        return NotImplemented
    if (one[-1], two[-1]) != matrix[1:] or any(0 in meta.shape for meta in metas):
        return NotImplemented
    if bias is not None and bias.shape != matrix[:1]:
        return NotImplemented
    node = "ViewBackward0" if bias is None else "AddBackward0"
    return Made((*one[:-1], matrix[0]), input1.dtype, None, node)


@rule("torch.linalg.vecdot")
def vecdot(x: Meta, y: Meta, *, dim: Any = -1, out: Any = None) -> Any:
    """`(8, 3)` with (8, 3) gives (8,): the sum of products over one dim."""
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
    """The sum of a matrix's diagonal: (3, 4) gives a 0-dim tensor."""
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
    """Two of (8, 3) give (8, 3). Without `dim` torch warns, so it answers."""
    if out is not None or dim is None:
        return NotImplemented
    return _crossed(input, other, dim)


@rule("torch.linalg.cross")
def linalg_cross(input: Meta, other: Meta, *, dim: Any = -1, out: Any = None) -> Any:
    """As `cross`, over the last dim."""
    return NotImplemented if out is not None else _crossed(input, other, dim)
