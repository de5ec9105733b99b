"""Metadata rules for discrete Fourier transforms over the last dims.

The libraries below torch (MKL, pocketfft) lay out results differently if other dims are
transformed or the input is not in row-major order; such calls are left to torch.
"""

from __future__ import annotations

from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, rule
from shapewright.operators.promotion_and_broadcasting import (
    COMPLEX,
    KIND,
    TO_COMPLEX,
    TO_REAL,
    is_plain,
)

Shape = tuple[int, ...]
NORMS = (None, "forward", "backward", "ortho")
TAKEN = ("float32", "float64", "complex64", "complex128")
REAL, FULL, HALF = "real", "full", "half"
"""The kind of output: real numbers, complex ones, or their first half (`rfft`)."""


def _transformed(input: Meta, sizes: Any, dims: Any, norm: Any, gives: str) -> Any:
    """Infer the output for `sizes` of the transformed dims; None keeps a size."""
    if input.dtype not in TAKEN or norm not in NORMS or not is_plain(input):
        return NotImplemented
    ndim = len(input.shape)
    if not ndim or not 0 < len(dims) <= ndim:
        return NotImplemented
    if [dim + ndim if dim < 0 else dim for dim in dims] != list(range(ndim))[
        -len(dims) :
    ]:
        return NotImplemented
    real = KIND[input.dtype] < 3
    if gives == HALF and not real:
        return NotImplemented
    made = list(input.shape)
    for dim, size in zip(dims, sizes or [None] * len(dims), strict=True):
        if size is not None and (type(size) is not int or size < 1):
            return NotImplemented
        made[dim] = size or made[dim]
    last = made[-1]
    if gives == REAL and (sizes is None or sizes[-1] is None):
        made[-1] = 2 * (last - 1)
    elif gives == HALF:
        made[-1] = last // 2 + 1
    if made[-1] < 1:
        return NotImplemented
    dtype = TO_COMPLEX[input.dtype] if real else input.dtype
    if gives == REAL:
        return Made(tuple(made), TO_REAL[dtype], None, "FftC2RBackward0")
    node = "FftR2CBackward0" if gives == HALF else "FftC2CBackward0"
    return Made(tuple(made), dtype, None, node)


def _one(name: str, gives: str) -> None:
    @rule(f"torch.fft.{name}")
    def transform(
        input: Meta, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None
    ) -> Any:
        if out is not None or type(dim) is not int:
            return NotImplemented
        made = _transformed(input, [n], [dim], norm, gives)
        if made is NotImplemented or gives != FULL or KIND[input.dtype] == 3:
            return made
        if name == "ifft":
            return NotImplemented  # real numbers that are transformed back
        return Made(made.shape, made.dtype, None, "FftR2CBackward0")


def _many(name: str, gives: str, usual: Any) -> None:
    @rule(f"torch.fft.{name}")
    def transform(
        input: Meta, s: Any = None, dim: Any = usual, norm: Any = None, *,
        out: Any = None,
    ) -> Any:  # fmt: skip
        if dim is None:
            dim = range(-(len(s) if s else len(input.shape)), 0)
        dims = [dim] if type(dim) is int else list(dim)
        sizes = None if s is None else [s] if type(s) is int else list(s)
        if out is not None or (sizes is not None and len(sizes) != len(dims)):
            return NotImplemented
        return _transformed(input, sizes, dims, norm, gives)


_one("fft", FULL)
_one("ifft", FULL)
_one("rfft", HALF)
_one("irfft", REAL)
for _end, _dims in (("2", (-2, -1)), ("n", None)):
    _many(f"fft{_end}", FULL, _dims)
    _many(f"ifft{_end}", FULL, _dims)
    _many(f"rfft{_end}", HALF, _dims)
    _many(f"irfft{_end}", REAL, _dims)


def _shifted(input: Meta, dim: Any) -> Any:
    if not input.shape or not is_plain(input) or input.dtype in COMPLEX:
        return NotImplemented
    dims = () if dim is None else (dim,) if type(dim) is int else tuple(dim)
    ndim = len(input.shape)
    wrong = any(not -ndim <= one < ndim for one in dims)
    if wrong or (dim is not None and not dims):
        return NotImplemented
    return Made(input.shape, input.dtype, None, "RollBackward0")


@rule("torch.fft.fftshift")
def fftshift(input: Meta, dim: Any = None) -> Any:
    """Infer the output: `(8, 16)` gives (8, 16), rolled by half of each dim."""
    return _shifted(input, dim)


@rule("torch.fft.ifftshift")
def ifftshift(input: Meta, dim: Any = None) -> Any:
    """Infer the output: `(8, 16)` gives (8, 16), which undoes `fftshift`."""
    return _shifted(input, dim)
