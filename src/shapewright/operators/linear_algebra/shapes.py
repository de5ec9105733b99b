"""Metadata rules for inverses, decompositions, linear systems, diagonals, distances and
discrete Fourier transforms.

LAPACK writes matrices column by column, and most results have these strides:
`_columns((8, 4, 3)) == (12, 1, 4)`. Whether a matrix is singular depends on its values;
the rules assume that it is not.

The libraries below torch (MKL, pocketfft) lay out results differently if other dims are
transformed or the input is not in row-major order; such calls are left to torch.
"""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, Misfit, axis, rule
from shapewright.operators.promotion_and_broadcasting import (
    COMPLEX,
    FLOATING,
    KIND,
    KNOWN,
    TO_COMPLEX,
    TO_REAL,
    broadcast,
    is_plain,
    new,
)
from shapewright.sizes.strides import contiguous

Shape = tuple[int, ...]
FLOATS = ("float32", "float64")


def _columns(shape: Shape) -> Shape:
    """Return the strides of matrices in column-major order."""
    turned = contiguous((*shape[:-2], shape[-1], shape[-2]))
    return (*turned[:-2], turned[-1], turned[-2])


def _by_columns(shape: Shape, dtype: str, node: str) -> Made:
    return Made(shape, dtype, _columns(shape), node)


def _matrices(input: Meta, square: bool = False) -> bool:
    shape = input.shape
    if len(shape) < 2 or 0 in shape or input.dtype not in FLOATS:
        return False
    return not square or shape[-1] == shape[-2]


@rule("torch.linalg.inv", "torch.inverse", "torch.Tensor.inverse")
def inverse(A: Meta, *, out: Any = None) -> Any:
    """Infer the output: `(8, 4, 4)` gives (8, 4, 4)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    return _by_columns(A.shape, A.dtype, "LinalgInvExBackward0")


@rule("torch.linalg.cholesky")
def cholesky(A: Meta, *, upper: bool = False, out: Any = None) -> Any:
    """Infer the output: `(8, 4, 4)` gives (8, 4, 4)."""
    if out is not None or upper or not _matrices(A, square=True):
        return NotImplemented
    return _by_columns(A.shape, A.dtype, "LinalgCholeskyExBackward0")


@rule("torch.linalg.det", "torch.det", "torch.Tensor.det")
def det(A: Meta, *, out: Any = None) -> Any:
    """Infer the output: `(8, 4, 4)` gives (8,)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    return Made(A.shape[:-2], A.dtype, None, "LinalgDetBackward0")


@rule("torch.linalg.slogdet", "torch.slogdet", "torch.Tensor.slogdet")
def slogdet(A: Meta, *, out: Any = None) -> Any:
    """Infer the outputs: `(8, 4, 4)` gives the signs (8,) and the logarithms (8,)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    output = Made(A.shape[:-2], A.dtype, None, "LinalgSlogdetBackward0")
    return (output, output)


@rule("torch.logdet", "torch.Tensor.logdet")
def logdet(input: Meta) -> Any:
    """Infer the output: `(8, 4, 4)` gives (8,)."""
    if not _matrices(input, square=True):
        return NotImplemented
    return Made(input.shape[:-2], input.dtype, None, "WhereBackward0")


@rule("torch.linalg.eigh")
def eigh(A: Meta, UPLO: str = "L", *, out: Any = None) -> Any:
    """Infer the outputs: `(8, 4, 4)` gives values (8, 4) and vectors (8, 4, 4)."""
    if out is not None or UPLO not in ("L", "U") or not _matrices(A, square=True):
        return NotImplemented
    values = Made(A.shape[:-1], A.dtype, None, "LinalgEighBackward0")
    return (values, _by_columns(A.shape, A.dtype, "LinalgEighBackward0"))


@rule("torch.linalg.eigvalsh")
def eigvalsh(A: Meta, UPLO: str = "L", *, out: Any = None) -> Any:
    """Infer the output: `(8, 4, 4)` gives (8, 4)."""
    outputs = eigh(A, UPLO, out=out)
    return outputs if outputs is NotImplemented else outputs[0]


@rule("torch.linalg.eig")
def eig(A: Meta, *, out: Any = None) -> Any:
    """Infer the complex outputs: `(8, 4, 4)` gives (8, 4) and vectors (8, 4, 4)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    dtype, node = TO_COMPLEX[A.dtype], "LinalgEigBackward0"
    return (
        Made(A.shape[:-1], dtype, None, node), _by_columns(A.shape, dtype, node)
    )  # fmt: skip


@rule("torch.linalg.qr")
def qr(A: Meta, mode: str = "reduced", *, out: Any = None) -> Any:
    """Infer the outputs: `(8, 5, 3)` gives (8, 5, 3) and (8, 3, 3)."""
    if out is not None or not _matrices(A) or mode not in ("reduced", "complete"):
        return NotImplemented
    *batch, rows, across = A.shape
    inner = rows if mode == "complete" else min(rows, across)
    node = "LinalgQrBackward0"
    return (
        _by_columns((*batch, rows, inner), A.dtype, node),
        _by_columns((*batch, inner, across), A.dtype, node),
    )


@rule("torch.linalg.svd")
def svd(
    A: Meta, full_matrices: bool = True, *, driver: Any = None, out: Any = None
) -> Any:
    """Infer the outputs: `(8, 5, 3)` gives (8, 5, 5), (8, 3) and (8, 3, 3)."""
    if out is not None or driver is not None or not _matrices(A):
        return NotImplemented
    *batch, rows, across = A.shape
    least, node = min(rows, across), "LinalgSvdBackward0"
    left, right = (rows, across) if full_matrices else (least, least)
    return (
        _by_columns((*batch, rows, left), A.dtype, node),
        Made((*batch, least), A.dtype, None, node),
        _by_columns((*batch, right, across), A.dtype, node),
    )


@rule("torch.linalg.svdvals")
def svdvals(A: Meta, *, driver: Any = None, out: Any = None) -> Any:
    """Infer the output: `(8, 5, 3)` gives (8, 3)."""
    outputs = svd(A, False, driver=driver, out=out)
    return outputs if outputs is NotImplemented else outputs[1]


@rule("torch.linalg.solve")
def solve(A: Meta, B: Meta, *, left: bool = True, out: Any = None) -> Any:
    """Infer the output: `(8, 4, 4)`, (8, 4, 3) give (8, 4, 3); (4, 4) takes (4,)."""
    if out is not None or left is not True or not _matrices(A, square=True):
        return NotImplemented
    node = "LinalgSolveExBackward0"
    if len(A.shape) == 2 and B.shape == A.shape[:1] and B.dtype == A.dtype:
        return Made(B.shape, A.dtype, None, node)
    return _solved(A, B, node)


def _solved(A: Meta, B: Meta, node: str) -> Any:
    if A.dtype != B.dtype or not _matrices(B) or A.shape[:-1] != B.shape[:-1]:
        return NotImplemented
    return _by_columns(B.shape, B.dtype, node)


@rule("torch.linalg.solve_triangular")
def solve_triangular(
    A: Meta, B: Meta, *, upper: bool, left: bool = True, unitriangular: bool = False,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer the output: `(8, 4, 4)` with (8, 4, 3) gives (8, 4, 3)."""
    if out is not None or left is not True or not _matrices(A, square=True):
        return NotImplemented
    if not is_plain(A, B):
        return NotImplemented
    return _solved(A, B, "LinalgSolveTriangularBackward0")


@rule("torch.cholesky_solve", "torch.Tensor.cholesky_solve")
def cholesky_solve(
    input: Meta, L: Meta, upper: bool = False, *, out: Any = None
) -> Any:
    """Infer the output: `(8, 4, 3)` with a factor (8, 4, 4) gives (8, 4, 3)."""
    if out is not None or not _matrices(L, square=True):
        return NotImplemented
    return _solved(L, input, "CholeskySolveBackward0")


@rule("torch.matrix_exp", "torch.linalg.matrix_exp", "torch.Tensor.matrix_exp")
def matrix_exp(A: Meta) -> Any:
    """Infer the output: `(8, 4, 4)` gives (8, 4, 4)."""
    if not _matrices(A, square=True) or not is_plain(A) or A.shape[-1] == 1:
        return NotImplemented
    return Made(A.shape, A.dtype, None, "LinalgMatrixExpBackward0")


def _diagonal(input: Meta, shape: Any, node: str) -> Made:
    return new(shape, input.dtype, contiguous(shape), node)


@rule("torch.diag", "torch.Tensor.diag")
def diag(input: Meta, diagonal: int = 0, *, out: Any = None) -> Any:
    """Infer the output: `(3,)` gives a matrix (3, 3); (3, 5) gives a diagonal (3,)."""
    shape = input.shape
    if out is not None or type(diagonal) is not int or input.dtype not in KNOWN:
        return NotImplemented
    if len(shape) == 1:
        size = shape[0] + abs(diagonal)
        return _diagonal(input, (size, size), "DiagEmbedBackward0")
    if len(shape) != 2:
        return NotImplemented
    rows, across = shape
    room = (
        min(rows, across - diagonal) if diagonal >= 0 else min(rows + diagonal, across)
    )
    return _diagonal(input, (max(room, 0),), "DiagonalBackward0_copy")


@rule("torch.diag_embed", "torch.Tensor.diag_embed")
def diag_embed(input: Meta, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Infer the output: `(8, 3)` gives (8, 3, 3), with each row on a diagonal."""
    if (dim1, dim2) != (-2, -1) or type(offset) is not int or not input.shape:
        return NotImplemented
    if input.dtype not in KNOWN:
        return NotImplemented
    size = input.shape[-1] + abs(offset)
    return _diagonal(input, (*input.shape[:-1], size, size), "DiagEmbedBackward0")


@rule("torch.diagflat", "torch.Tensor.diagflat")
def diagflat(input: Meta, offset: int = 0) -> Any:
    """Infer the output: `(2, 3)` gives (6, 6), all elements on the diagonal."""
    if type(offset) is not int or input.dtype not in KNOWN:
        return NotImplemented
    size = prod(input.shape) + abs(offset)
    return _diagonal(input, (size, size), "DiagEmbedBackward0")


def common_shape(*metas: Meta) -> Shape | None:
    """Return the broadcast shape of floats of one dtype; None leaves it to torch."""
    dtype = metas[0].dtype
    if dtype not in FLOATING or any(meta.dtype != dtype for meta in metas):
        return None
    try:
        shape = broadcast(*(meta.shape for meta in metas))
    except Misfit:
        return None
    return None if 0 in shape else shape


@rule("torch.cosine_similarity", "torch.nn.functional.cosine_similarity")
def cosine_similarity(x1: Meta, x2: Meta, dim: int = 1, eps: float = 1e-8) -> Any:
    """Infer the output: two of (8, 64) over dim 1 give (8,); shapes broadcast."""
    shape = common_shape(x1, x2)
    if not shape:
        return NotImplemented
    gone = axis(dim, len(shape))
    output_shape = (*shape[:gone], *shape[gone + 1 :])
    return Made(output_shape, x1.dtype, None, "SumBackward1")


@rule("torch.pairwise_distance", "torch.nn.functional.pairwise_distance")
def pairwise_distance(
    x1: Meta, x2: Meta, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """Infer the output: two of (8, 64) give (8,), norms over the last dim."""
    shape = common_shape(x1, x2)
    if not shape or type(p) not in (int, float):
        return NotImplemented
    output_shape = (*shape[:-1], 1) if keepdim else shape[:-1]
    return Made(output_shape, x1.dtype, None, "NormBackward1")


@rule("torch.dist", "torch.Tensor.dist")
def dist(input: Meta, other: Meta, p: Any = 2) -> Any:
    """Infer the output of `dist`, the norm of a difference: a 0-dim tensor."""
    if common_shape(input, other) is None:
        return NotImplemented
    return Made((), input.dtype, (), "DistBackward0")


@rule("torch.pdist", "torch.nn.functional.pdist")
def pdist(input: Meta, p: float = 2) -> Any:
    """Infer the output: `(8, 64)` gives (28,), the distance of every two rows."""
    if input.dtype not in ("float32", "float64") or len(input.shape) != 2:
        return NotImplemented
    rows = input.shape[0]
    if 0 in input.shape or rows < 2 or p < 0:
        return NotImplemented
    return Made((rows * (rows - 1) // 2,), input.dtype, None, "PdistBackward0")


MANY = 25
"""With more rows than this, torch computes Euclidean distances by a matrix product."""


@rule("torch.cdist")
def cdist(
    x1: Meta, x2: Meta, p: Any = 2.0,
    compute_mode: Any = "use_mm_for_euclid_dist_if_necessary",
) -> Any:  # fmt: skip
    """Infer the output: `(8, 4, 3)` and (8, 5, 3) give (8, 4, 5), for all row pairs."""
    left, right = x1.shape, x2.shape
    if x1.dtype != x2.dtype or x1.dtype not in ("float32", "float64"):
        return NotImplemented
    if (
        min(len(left), len(right)) < 2
        or left[-1] != right[-1]
        or not prod(left + right)
    ):
        return NotImplemented
    if p < 0 or not isinstance(compute_mode, str):
        return NotImplemented
    try:
        batch = broadcast(left[:-2], right[:-2])
    except Misfit:
        return NotImplemented
    never = compute_mode == "donot_use_mm_for_euclid_dist"
    small = max(left[-2], right[-2]) <= MANY
    if compute_mode == "use_mm_for_euclid_dist":
        small = False
    node = "CdistBackward0" if p != 2 or never or small else None
    return Made((*batch, left[-2], right[-2]), x1.dtype, None, node)


# -- Fourier transforms ----------------------------------------------------------------

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
    output_shape = list(input.shape)
    for dim, size in zip(dims, sizes or [None] * len(dims), strict=True):
        if size is not None and (type(size) is not int or size < 1):
            return NotImplemented
        output_shape[dim] = size or output_shape[dim]
    last = output_shape[-1]
    if gives == REAL and (sizes is None or sizes[-1] is None):
        output_shape[-1] = 2 * (last - 1)
    elif gives == HALF:
        output_shape[-1] = last // 2 + 1
    if output_shape[-1] < 1:
        return NotImplemented
    dtype = TO_COMPLEX[input.dtype] if real else input.dtype
    if gives == REAL:
        return Made(tuple(output_shape), TO_REAL[dtype], None, "FftC2RBackward0")
    node = "FftR2CBackward0" if gives == HALF else "FftC2CBackward0"
    return Made(tuple(output_shape), dtype, None, node)


def _one(name: str, gives: str) -> None:
    @rule(f"torch.fft.{name}")
    def transform(
        input: Meta, n: Any = None, dim: Any = -1, norm: Any = None, *, out: Any = None
    ) -> Any:
        if out is not None or type(dim) is not int:
            return NotImplemented
        output = _transformed(input, [n], [dim], norm, gives)
        if output is NotImplemented or gives != FULL or KIND[input.dtype] == 3:
            return output
        if name == "ifft":
            return NotImplemented  # real numbers that are transformed back
        return Made(output.shape, output.dtype, None, "FftR2CBackward0")


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
    wrong = any(not -ndim <= axis_dim < ndim for axis_dim in dims)
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
