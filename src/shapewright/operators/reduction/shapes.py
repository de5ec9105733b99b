"""Metadata rules for reductions: sums, means, norms, largest, smallest and running
values.

Functions that return (values, indices) are inferred as a tuple of two.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.metadata_rules import (
    Made,
    Misfit,
    axes,
    axis,
    reduced,
    rule,
    setting,
)
from shapewright.operators.pointwise.arithmetic_shapes import Binary, out_of_place
from shapewright.operators.pointwise.shapes import Family
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KERNEL_DTYPE,
    KIND,
    KNOWN,
    new,
    no_overlap,
    pointwise,
)
from shapewright.sizes.strides import contiguous


def _over(input: Any, dim: Any, keepdim: Any, dtype: str, grad_fn: str | None) -> Made:
    """Return a contiguous tensor reduced over the dims `dim`, or over all if None."""
    shape = input.shape
    if len(shape) > 64:
        raise Misfit("only tensors with up to 64 dims are supported")
    if dim is None and not keepdim:
        return Made((), dtype, (), grad_fn if KIND[dtype] >= 2 else "")
    left = reduced(shape, axes(dim, len(shape)), bool(keepdim))
    return new(left, dtype, contiguous(left), grad_fn)


def _dims(dim: Any) -> bool:
    return dim is None or type(dim) is int or isinstance(dim, tuple | list)


_MISSING = object()


def _summing(name: str, grads: tuple[str, str]) -> None:
    def metadata(
        input: Any, dim: Any = _MISSING, keepdim: Any = False, *,
        dtype: str | None = None, out: Any = None,
    ) -> Any:  # fmt: skip
        have = input.dtype
        result = dtype or ("int64" if have == "bool" else have)
        if have not in KNOWN or result not in KNOWN or out is not None:
            return NotImplemented
        if dtype is None and KIND[have] < 2:
            result = "int64"
        if dim is _MISSING:
            return _over(input, None, False, result, grads[0])
        if not _dims(dim):
            return NotImplemented
        return _over(input, dim, keepdim, result, grads[1])

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_summing("sum", ("SumBackward0", "SumBackward1"))


@rule("torch.nansum", "torch.Tensor.nansum")
def nansum(
    input: Any, dim: Any = None, keepdim: Any = False, *, dtype: str | None = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer a sum that skips NaN; non-float dtypes are left to torch."""
    if input.dtype not in FLOATING or dtype is not None or out is not None:
        return NotImplemented
    return _over(input, dim, keepdim, input.dtype, "NansumBackward0")


@rule("torch.mean", "torch.Tensor.mean")
def mean(
    input: Any, dim: Any = _MISSING, keepdim: Any = False, *, dtype: str | None = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer the mean of floats, or the mean in the given float `dtype`."""
    result = dtype or input.dtype
    if result not in KNOWN or input.dtype not in KNOWN or out is not None:
        return NotImplemented
    if KIND[result] < 2:
        raise _not_a_float(dtype, result)
    if dim is _MISSING:
        return _over(input, None, False, result, "MeanBackward0")
    if not _dims(dim):
        return NotImplemented
    return _over(input, dim, keepdim, result, "MeanBackward1")


def _not_a_float(requested: str | None, dtype: str) -> Misfit:
    which = "Input" if requested is None else "Optional"
    return Misfit(
        f"mean(): could not infer output dtype. {which} dtype must be either a "
        f"floating point or complex dtype. Got: {KERNEL_DTYPE[dtype]}"
    )


@rule("torch.prod", "torch.Tensor.prod")
def product(
    input: Any, dim: Any = _MISSING, keepdim: Any = False, *, dtype: str | None = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer the product over all dims or a single dim."""
    if input.dtype not in KNOWN or (dtype or "bool") not in KNOWN or out is not None:
        return NotImplemented
    result = dtype or ("int64" if KIND[input.dtype] < 2 else input.dtype)
    if dim is _MISSING:
        return _over(input, None, False, result, "ProdBackward0")
    if type(dim) is not int:
        return NotImplemented
    return _over(input, dim, keepdim, result, "ProdBackward1")


@rule("torch.any", "torch.Tensor.any", "torch.all", "torch.Tensor.all")
def truth(input: Any, dim: Any = None, keepdim: Any = False, *, out: Any = None) -> Any:
    """Infer `any` or `all`: bool, or uint8 for uint8."""
    if input.dtype not in KNOWN or out is not None or not _dims(dim):
        return NotImplemented
    dtype = "uint8" if input.dtype == "uint8" else "bool"
    if isinstance(dim, tuple | list) and not dim:
        return NotImplemented
    return _over(input, dim, keepdim, dtype, "")


@rule("torch.count_nonzero", "torch.Tensor.count_nonzero")
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """Infer the number of nonzero elements, int64."""
    if input.dtype not in KNOWN or not _dims(dim):
        return NotImplemented
    return _over(input, dim, False, "int64", "")


@rule("torch.logsumexp", "torch.Tensor.logsumexp", "torch.special.logsumexp")
def logsumexp(input: Any, dim: Any, keepdim: Any = False, *, out: Any = None) -> Any:
    """Infer `log(sum(exp(x)))`; integers become the default dtype."""
    if KIND.get(input.dtype, 3) == 3 or out is not None or not _dims(dim):
        return NotImplemented
    if type(dim) is not int and not dim:
        return NotImplemented
    dtype = input.dtype if input.dtype in FLOATING else setting.default_dtype
    return _over(input, dim, keepdim, dtype, "LogsumexpBackward0")


_NO_INTEGERS = "{} only support floating point and complex dtypes"


def _spread(name: str, grad_fn: str, pair: bool) -> None:
    def metadata(
        input: Any, dim: Any = None, unbiased: Any = _MISSING, keepdim: Any = False, *,
        correction: Any = _MISSING, out: Any = None,
    ) -> Any:  # fmt: skip
        if type(dim) is bool and unbiased is _MISSING:
            dim = None
        if out is not None or not _dims(dim) or KIND.get(input.dtype, 3) == 3:
            return NotImplemented
        if KIND[input.dtype] < 2:
            raise Misfit(_NO_INTEGERS.format(name if pair else "std and var"))
        if correction is not _MISSING and unbiased is not _MISSING:
            return NotImplemented
        output = _over(input, dim, keepdim, input.dtype, grad_fn)
        return (output, output) if pair else output

    rule(f"torch.{name}", *([] if pair else [f"torch.Tensor.{name}"]))(metadata)


_spread("std", "StdBackward0", False)
_spread("var", "VarBackward0", False)
_spread("std_mean", "StdMeanBackward0", True)
_spread("var_mean", "VarMeanBackward0", True)


def _vector_norm(input: Any, p: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    if input.dtype not in FLOATING or dtype is not None or not _dims(dim):
        return NotImplemented
    if type(p) not in (int, float) or not prod(input.shape):
        return NotImplemented
    return _over(input, dim, keepdim, input.dtype, "LinalgVectorNormBackward0")


@rule("torch.norm", "torch.Tensor.norm")
def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: Any = False, out: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Infer the p-norm of the elements, over all dims or over the given dims."""
    if out is not None or p == "nuc" or (p == "fro" and _many(dim)):
        return NotImplemented
    if dim is None and keepdim and p != "fro":
        return NotImplemented
    return _vector_norm(input, 2 if p == "fro" or p is None else p, dim, keepdim, dtype)


def _many(dim: Any) -> bool:
    return isinstance(dim, tuple | list) and len(dim) > 2


@rule("torch.linalg.vector_norm")
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: Any = False, *, dtype: Any = None,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer the norm of all elements as a single vector, or over dims."""
    if out is not None:
        return NotImplemented
    return _vector_norm(x, ord, dim, keepdim, dtype)


@rule("torch.linalg.norm")
def linalg_norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: Any = False, *,
    dtype: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """Infer vector norms; matrix norms are left to torch."""
    one_dim = type(dim) is int or (isinstance(dim, tuple | list) and len(dim) == 1)
    one_dim = one_dim or (dim is None and len(A.shape) == 1)
    if out is not None or (ord is not None and not one_dim):
        return NotImplemented
    if _many(dim):
        return NotImplemented
    return _vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype)


@rule("torch.linalg.matrix_norm")
def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: Any = False, *,
    dtype: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """Infer the Frobenius norm; other matrix norms are left to torch."""
    if out is not None or ord != "fro" or len(A.shape) < 2 or tuple(dim) != (-2, -1):
        return NotImplemented
    return _vector_norm(A, 2, dim, keepdim, dtype)


@rule("torch.nn.functional.normalize")
def normalize(
    input: Any, p: Any = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    """`x / x.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(x)`."""
    if out is not None:
        return NotImplemented
    below = norm(input, p, dim, True)
    if below is NotImplemented:
        return below
    stride = tuple(
        0 if size == 1 and want != 1 else step
        for size, step, want in zip(below.shape, below.stride, input.shape, strict=True)
    )
    spread = Made(input.shape, input.dtype, stride)
    return pointwise(input.dtype, "DivBackward0", input, spread)


def _empty(input: Any, dim: Any) -> bool:
    """Return whether no elements are reduced, for which torch's messages vary."""
    shape = input.shape
    if type(dim) is int and shape:
        return not shape[axis(dim, len(shape))]
    return not prod(shape)


def _real(input: Any) -> bool:
    return KIND.get(input.dtype, 3) < 3


def _pair(input: Any, dim: Any, keepdim: Any, grad_fn: str) -> Any:
    if type(dim) is not int or not _real(input) or _empty(input, dim):
        return NotImplemented
    values = _over(input, dim, keepdim, input.dtype, grad_fn)
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
        return _over(input, None, False, input.dtype, f"{title}Backward1")

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
        return _over(input, dim, keepdim, input.dtype, grad_fn)

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_amax("amax")
_amax("amin")


@rule("torch.aminmax", "torch.Tensor.aminmax")
def aminmax(
    input: Any, *, dim: Any = None, keepdim: Any = False, out: Any = None
) -> Any:
    """Infer the smallest and the largest element, over all dims or a single dim."""
    if out is not None or not _real(input) or _empty(input, dim):
        return NotImplemented
    output = _over(input, dim, keepdim, input.dtype, "AminmaxBackward0")
    return output, output


@rule("torch.argmax", "torch.Tensor.argmax", "torch.argmin", "torch.Tensor.argmin")
def argmax(
    input: Any, dim: Any = None, keepdim: Any = False, *, out: Any = None
) -> Any:
    """Infer the index of the largest element: int64."""
    if (
        out is not None
        or not _real(input)
        or input.dtype == "bool"
        or _empty(input, dim)
    ):
        return NotImplemented
    return _over(input, dim, keepdim, "int64", "")


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
        return _over(input, None, False, input.dtype, f"{title}Backward0")

    rule(f"torch.{name}", f"torch.Tensor.{name}")(metadata)


_middle("median")
_middle("nanmedian")


@rule("torch.mode", "torch.Tensor.mode")
def mode(input: Any, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """Infer the most frequent values and an index of each."""
    if out is not None:
        return NotImplemented
    return _pair(input, dim, keepdim, "ModeBackward0")


@rule("torch.kthvalue", "torch.Tensor.kthvalue")
def kthvalue(
    input: Any, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """Infer the k-th smallest values, where k counts from 1."""
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
    """Infer a running `logsumexp` of floats."""
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
