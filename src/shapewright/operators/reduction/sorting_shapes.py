"""Metadata rules for sorting, flipping and rolling, for histograms, quantiles,
covariances and draws.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.metadata_rules import (
    Made,
    Meta,
    Misfit,
    axes,
    axis,
    reduced,
    rule,
    wrap_dim,
)
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KERNEL_DTYPE,
    KIND,
    KNOWN,
    is_plain,
    pointwise,
)
from shapewright.sizes.strides import (
    compute_format_strides,
    compute_strides_like,
    suggest_format,
)


def _named(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ints that are given as separate arguments or as a single sequence."""
    if len(args) == 1 and not isinstance(args[0], int):
        return tuple(args[0])
    return args


@rule("torch.roll", "torch.Tensor.roll")
def roll(input: Meta, shifts: Any, dims: Any = ()) -> Any:
    """`(8, 16)` rolled by 1 gives (8, 16); without dims, as a flattened tensor."""
    shape = input.shape
    dims = (dims,) if type(dims) is int else tuple(dims)
    shifts = (shifts,) if type(shifts) is int else tuple(shifts)
    if 0 in shape or not shape or len(shifts) != max(len(dims), 1):
        return NotImplemented
    if any(type(number) is not int for number in dims + shifts):
        return NotImplemented
    for dim in dims:
        wrap_dim(dim, len(shape))
    hinted = suggest_format(shape, input.stride) if dims else "contiguous_format"
    if hinted != "contiguous_format" and (1 in shape or len(dims) > 1):
        return NotImplemented
    kept = compute_format_strides(shape, hinted)
    return Made(shape, input.dtype, kept, "RollBackward0")


@rule("torch.flip", "torch.Tensor.flip")
def flip(input: Meta, *named: Any, dims: Any = None) -> Any:
    """`(8, 16)` flipped in any dims gives (8, 16)."""
    shape = input.shape
    named = _named(named if dims is None else (dims,))
    if not shape or 0 in shape or not named or input.dtype not in KNOWN:
        return NotImplemented
    if any(type(dim) is not int for dim in named):
        return NotImplemented
    wrapped = [wrap_dim(dim, len(shape)) for dim in named]
    if len(set(wrapped)) != len(wrapped):
        return NotImplemented
    return Made(
        shape, input.dtype, compute_strides_like(shape, input.stride), "FlipBackward0"
    )


def _sorted(input: Meta, dim: Any, node: str) -> Any:
    shape = input.shape
    if type(dim) is not int or input.dtype not in KNOWN or "complex" in input.dtype:
        return NotImplemented
    wrap_dim(dim, len(shape))
    if 0 in shape:
        return NotImplemented
    stride = compute_strides_like(shape, input.stride)
    return [
        Made(shape, input.dtype, stride, node),
        Made(shape, "int64", stride, ""),
    ]


@rule("torch.sort", "torch.Tensor.sort")
def sort(
    input: Meta,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: Any = None,
) -> Any:
    """`(8, 16)` gives values (8, 16) and int64 indices (8, 16)."""
    node = "SortBackward0" if stable is None else "SortBackward1"
    return NotImplemented if out is not None else _sorted(input, dim, node)


@rule("torch.argsort", "torch.Tensor.argsort")
def argsort(
    input: Meta, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Any:
    """`(8, 16)` gives int64 indices (8, 16)."""
    outputs = _sorted(input, dim, "")
    return outputs if outputs is NotImplemented else outputs[1]


@rule("torch.msort", "torch.Tensor.msort")
def msort(input: Meta, *, out: Any = None) -> Any:
    """`(8, 16)` gives (8, 16), each column in order."""
    if out is not None or not input.shape:
        return NotImplemented
    outputs = _sorted(input, 0, "SortBackward0")
    return outputs if outputs is NotImplemented else outputs[0]


@rule("torch.topk", "torch.Tensor.topk")
def topk(
    input: Meta,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Any = None,
) -> Any:
    """`(8, 16)` with k=3 on the last dim gives values and int64 indices (8, 3)."""
    shape = input.shape
    if out is not None or type(k) is not int or type(dim) is not int:
        return NotImplemented
    if input.dtype not in KNOWN or "complex" in input.dtype or not shape:
        return NotImplemented
    at = wrap_dim(dim, len(shape))
    if not 0 <= k <= shape[at]:
        raise Misfit("selected index k out of range")
    if input.dtype == "bool" or 0 in shape:
        return NotImplemented
    output_shape = (*shape[:at], k, *shape[at + 1 :])
    return [
        Made(output_shape, input.dtype, None, "TopkBackward0"),
        Made(output_shape, "int64", None, ""),
    ]


FLOATS = ("float32", "float64")


@rule("torch.histc", "torch.Tensor.histc")
def histc(
    input: Meta, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Any = None
) -> Any:
    """`(128,)` in 10 bins gives (10,)."""
    if out is not None or input.dtype not in FLOATS or type(bins) is not int:
        return NotImplemented
    if bins < 1 or min > max or any(abs(end) == float("inf") for end in (min, max)):
        return NotImplemented
    return Made((bins,), input.dtype, None, None)


@rule("torch.bucketize")
def bucketize(
    input: Any, boundaries: Meta, *, out_int32: bool = False, right: bool = False,
    out: Any = None,
) -> Any:  # fmt: skip
    """`(8, 16)` with boundaries (10,) gives int64 indices (8, 16)."""
    return searchsorted(
        boundaries, input, out_int32=out_int32, right=right, out=out, plain=False
    )


@rule("torch.searchsorted")
def searchsorted(
    sorted_sequence: Meta, input: Any, *, out_int32: bool = False, right: bool = False,
    side: Any = None, sorter: Any = None, out: Any = None, plain: bool = True,
) -> Any:  # fmt: skip
    """`(8, 3)` with sorted rows (8, 10) gives int64 indices (8, 3).

    For tensors that are not in row-major order torch warns, so the call is left to it.
    """
    rows = sorted_sequence.shape
    if out is not None or side is not None or sorter is not None:
        return NotImplemented
    if not hasattr(input, "shape") or input.dtype != sorted_sequence.dtype:
        return NotImplemented
    if input.dtype not in KNOWN or KIND[input.dtype] not in (1, 2):
        return NotImplemented
    if not is_plain(sorted_sequence, input) or not rows:
        return NotImplemented
    matched = plain and len(input.shape) == len(rows) and input.shape[:-1] == rows[:-1]
    if len(rows) != 1 and not matched:
        return NotImplemented
    return Made(input.shape, "int32" if out_int32 else "int64", None, "")


def _covariance_flops(input: Meta, *_: Any, **__: Any) -> int:
    rows = input.shape[0] if len(input.shape) > 1 else 1
    return 2 * rows * prod(input.shape)


def _covariance(input: Meta, node: str) -> Any:
    shape = input.shape
    if input.dtype not in FLOATS or len(shape) not in (1, 2) or 0 in shape:
        return NotImplemented
    rows = shape[0] if len(shape) == 2 else 1
    if shape[-1] < 2:
        return NotImplemented  # torch warns: no degrees of freedom are left
    return Made((rows, rows) if rows > 1 else (), input.dtype, None, node)


@rule("torch.cov", "torch.Tensor.cov", flops=_covariance_flops)
def cov(
    input: Meta, *, correction: int = 1, fweights: Any = None, aweights: Any = None
) -> Any:
    """`(5, 100)`, with a variable in each row, gives (5, 5)."""
    if correction not in (0, 1) or fweights is not None or aweights is not None:
        return NotImplemented
    return _covariance(input, "SqueezeBackward0")


@rule("torch.corrcoef", "torch.Tensor.corrcoef", flops=_covariance_flops)
def corrcoef(input: Meta) -> Any:
    """`(5, 100)`, with a variable in each row, gives (5, 5)."""
    output = _covariance(input, "ClampBackward1")
    return NotImplemented if output is NotImplemented or not output.shape else output


@rule("torch.diff", "torch.Tensor.diff")
def diff(
    input: Meta, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None,
    *, out: Any = None,
) -> Any:  # fmt: skip
    """`(8, 16)` gives (8, 15): each element minus the previous element."""
    if out is not None or prepend is not None or append is not None or n != 1:
        return NotImplemented
    dtype, shape = input.dtype, input.shape
    if dtype not in KNOWN or dtype == "bool" or not shape or 0 in shape:
        return NotImplemented
    at = axis(dim, len(shape))
    less = (*shape[:at], shape[at] - 1, *shape[at + 1 :])
    part = Made(less, dtype, input.stride)
    return pointwise(dtype, "SubBackward0", part, part)


@rule("torch.trapezoid", "torch.trapz")
def trapezoid(y: Meta, x: Meta | None = None, *, dx: Any = None, dim: int = -1) -> Any:
    """`(8, 16)` gives (8,): the area under each row."""
    if x is not None or y.dtype not in FLOATING or not y.shape or 0 in y.shape:
        return NotImplemented
    if dx is not None and type(dx) not in (int, float):
        return NotImplemented
    at = axis(dim, len(y.shape))
    shape = (*y.shape[:at], *y.shape[at + 1 :])
    return Made(shape, y.dtype, None, "MulBackward1") if y.shape[at] > 1 else (
        NotImplemented
    )  # fmt: skip


@rule("torch.isclose", "torch.Tensor.isclose")
def isclose(
    input: Meta, other: Meta, rtol: float = 1e-5, atol: float = 1e-8,
    equal_nan: bool = False,
) -> Any:  # fmt: skip
    """Two tensors of (8, 16) give bool (8, 16)."""
    if input.dtype != other.dtype or input.dtype not in KNOWN or min(rtol, atol) < 0:
        return NotImplemented
    if input.shape != other.shape or not is_plain(input, other):
        return NotImplemented
    return Made(input.shape, "bool", None, "")


@rule("torch.isin")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False,
    invert: bool = False,
) -> Any:  # fmt: skip
    """`(8, 16)` with test elements (5,) gives bool (8, 16)."""
    if not hasattr(elements, "shape") or not hasattr(test_elements, "shape"):
        return NotImplemented
    if elements.dtype != test_elements.dtype or elements.dtype not in KNOWN:
        return NotImplemented
    if KIND[elements.dtype] not in (1, 2) or elements.dtype in ("float16", "bfloat16"):
        return NotImplemented
    if not is_plain(elements, test_elements):
        return NotImplemented
    return Made(elements.shape, "bool", None, "")


@rule("torch.quantile", "torch.Tensor.quantile")
def quantile(
    input: Meta, q: Any, dim: Any = None, keepdim: bool = False, *,
    interpolation: str = "linear", out: Any = None,
) -> Any:  # fmt: skip
    """`(8, 16)` over dim 1 gives (8,). Several quantiles at once are left to torch."""
    if out is not None or type(q) is not float or not 0 <= q <= 1:
        return NotImplemented
    if input.dtype not in FLOATS or interpolation != "linear" or not is_plain(input):
        return NotImplemented
    if not input.shape or (dim is not None and type(dim) is not int):
        return NotImplemented
    left = reduced(input.shape, axes(dim, len(input.shape)), bool(keepdim))
    return Made(left, input.dtype, None, "SqueezeBackward4")


MOST_CATEGORIES = 1 << 24
"""The largest n for which float32 represents every integer up to n."""


@rule("torch.multinomial", "torch.Tensor.multinomial", random=True)
def multinomial(
    input: Meta,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Any:
    """3 samples from each row of (8, 10) give int64 indices (8, 3)."""
    if out is not None or type(num_samples) is not int:
        return NotImplemented
    if len(input.shape) not in (1, 2):
        raise Misfit("prob_dist must be 1 or 2 dim")
    if input.dtype not in FLOATING:
        if input.dtype not in KERNEL_DTYPE:
            return NotImplemented
        raise Misfit(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{KERNEL_DTYPE[input.dtype]}"
        )
    categories = input.shape[-1]
    if num_samples <= 0:
        raise Misfit("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > categories:
        raise Misfit(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if categories > MOST_CATEGORIES:
        raise Misfit("number of categories cannot exceed 2^24")
    if not categories:
        return NotImplemented
    return Made((*input.shape[:-1], num_samples), "int64", None, "")
