"""Inverses, decompositions and solutions of square and tall matrices.

LAPACK writes matrices column by column, so that is how most results lie in memory:
`columns((8, 4, 3)) == (12, 1, 4)`. Whether a matrix is singular depends on its values;
the rules suppose that it is not.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.elementwise import is_plain
from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import TO_COMPLEX
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous

Shape = tuple[int, ...]
FLOATS = ("float32", "float64")


def columns(shape: Shape) -> Shape:
    """Strides of matrices that lie column by column."""
    turned = contiguous((*shape[:-2], shape[-1], shape[-2]))
    return (*turned[:-2], turned[-1], turned[-2])


def _by_columns(shape: Shape, dtype: str, node: str) -> Made:
    return Made(shape, dtype, columns(shape), node)


def _matrices(input: Meta, square: bool = False) -> bool:
    shape = input.shape
    if len(shape) < 2 or 0 in shape or input.dtype not in FLOATS:
        return False
    return not square or shape[-1] == shape[-2]


@rule("torch.linalg.inv", "torch.inverse", "torch.Tensor.inverse")
def inverse(A: Meta, *, out: Any = None) -> Any:
    """`(8, 4, 4)` gives (8, 4, 4)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    return _by_columns(A.shape, A.dtype, "LinalgInvExBackward0")


@rule("torch.linalg.cholesky")
def cholesky(A: Meta, *, upper: bool = False, out: Any = None) -> Any:
    """`(8, 4, 4)` gives (8, 4, 4)."""
    if out is not None or upper or not _matrices(A, square=True):
        return NotImplemented
    return _by_columns(A.shape, A.dtype, "LinalgCholeskyExBackward0")


@rule("torch.linalg.det", "torch.det", "torch.Tensor.det")
def det(A: Meta, *, out: Any = None) -> Any:
    """`(8, 4, 4)` gives (8,)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    return Made(A.shape[:-2], A.dtype, None, "LinalgDetBackward0")


@rule("torch.linalg.slogdet", "torch.slogdet", "torch.Tensor.slogdet")
def slogdet(A: Meta, *, out: Any = None) -> Any:
    """`(8, 4, 4)` gives the signs (8,) and the logarithms (8,)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    made = Made(A.shape[:-2], A.dtype, None, "LinalgSlogdetBackward0")
    return (made, made)


@rule("torch.logdet", "torch.Tensor.logdet")
def logdet(input: Meta) -> Any:
    """`(8, 4, 4)` gives (8,)."""
    if not _matrices(input, square=True):
        return NotImplemented
    return Made(input.shape[:-2], input.dtype, None, "WhereBackward0")


@rule("torch.linalg.eigh")
def eigh(A: Meta, UPLO: str = "L", *, out: Any = None) -> Any:
    """`(8, 4, 4)` gives values (8, 4) and vectors (8, 4, 4)."""
    if out is not None or UPLO not in ("L", "U") or not _matrices(A, square=True):
        return NotImplemented
    values = Made(A.shape[:-1], A.dtype, None, "LinalgEighBackward0")
    return (values, _by_columns(A.shape, A.dtype, "LinalgEighBackward0"))


@rule("torch.linalg.eigvalsh")
def eigvalsh(A: Meta, UPLO: str = "L", *, out: Any = None) -> Any:
    """`(8, 4, 4)` gives (8, 4)."""
    made = eigh(A, UPLO, out=out)
    return made if made is NotImplemented else made[0]


@rule("torch.linalg.eig")
def eig(A: Meta, *, out: Any = None) -> Any:
    """`(8, 4, 4)` gives complex values (8, 4) and vectors (8, 4, 4)."""
    if out is not None or not _matrices(A, square=True):
        return NotImplemented
    dtype, node = TO_COMPLEX[A.dtype], "LinalgEigBackward0"
    return (
        Made(A.shape[:-1], dtype, None, node), _by_columns(A.shape, dtype, node)
    )  # fmt: skip


@rule("torch.linalg.qr")
def qr(A: Meta, mode: str = "reduced", *, out: Any = None) -> Any:
    """`(8, 5, 3)` gives (8, 5, 3) and (8, 3, 3)."""
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
    """`(8, 5, 3)` gives (8, 5, 5), (8, 3) and (8, 3, 3)."""
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
    """`(8, 5, 3)` gives (8, 3)."""
    made = svd(A, False, driver=driver, out=out)
    return made if made is NotImplemented else made[1]


@rule("torch.linalg.solve")
def solve(A: Meta, B: Meta, *, left: bool = True, out: Any = None) -> Any:
    """`(8, 4, 4)` with (8, 4, 3) gives (8, 4, 3); one vector for one matrix."""
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
    """`(8, 4, 4)` with (8, 4, 3) gives (8, 4, 3)."""
    if out is not None or left is not True or not _matrices(A, square=True):
        return NotImplemented
    if not is_plain(A, B):
        return NotImplemented
    return _solved(A, B, "LinalgSolveTriangularBackward0")


@rule("torch.cholesky_solve", "torch.Tensor.cholesky_solve")
def cholesky_solve(
    input: Meta, L: Meta, upper: bool = False, *, out: Any = None
) -> Any:
    """`(8, 4, 3)` with a factor (8, 4, 4) gives (8, 4, 3)."""
    if out is not None or not _matrices(L, square=True):
        return NotImplemented
    return _solved(L, input, "CholeskySolveBackward0")


@rule("torch.matrix_exp", "torch.linalg.matrix_exp", "torch.Tensor.matrix_exp")
def matrix_exp(A: Meta) -> Any:
    """`(8, 4, 4)` gives (8, 4, 4)."""
    if not _matrices(A, square=True) or not is_plain(A) or A.shape[-1] == 1:
        return NotImplemented
    return Made(A.shape, A.dtype, None, "LinalgMatrixExpBackward0")
