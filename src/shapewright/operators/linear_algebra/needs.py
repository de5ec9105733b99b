"""Needs of inverses, decompositions and solvers: matrices that fit each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from shapewright.findings.codes import INNER_DIM_MISMATCH, NOT_SQUARE, WRONG_RANK
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.matmul.needs import Named, of_batch
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    is_tensor,
    resized,
    same_dtype,
    text,
)
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.pointwise.needs import clash
from shapewright.operators.promotion_and_broadcasting import KIND

TAKEN = ("float32", "float64", "complex64", "complex128")

SQUARE = """
linalg.inv linalg.inv_ex inverse linalg.det det linalg.slogdet slogdet logdet
linalg.cholesky linalg.cholesky_ex cholesky cholesky_inverse linalg.eigh linalg.eigvalsh
linalg.eig linalg.eigvals linalg.ldl_factor linalg.ldl_factor_ex
""".split()
ANY = """
linalg.qr qr linalg.svd svd linalg.svdvals linalg.pinv pinverse linalg.matrix_rank
linalg.lu linalg.lu_factor linalg.lu_factor_ex geqrf
""".split()


def _forms(words: list[str]) -> tuple[str, ...]:
    """Return the names of functions, and of the tensor methods with these names."""
    return named(
        *(f"torch.{word}" for word in words),
        *(f"torch.Tensor.{word}" for word in words if "." not in word),
    )


@needs(*_forms(SQUARE))
def square(input: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the input consists of square float matrices."""
    return _of_square("input", input) or _of_floats("input", input)


@needs(*_forms("matrix_exp linalg.matrix_exp".split()))
def matrix_exp(input: Meta) -> Unmet | None:
    """Check that the input consists of square float matrices of any precision."""
    wrong = _of_square("input", input)
    if wrong is None and KIND.get(input.dtype, 2) < 2:
        return dtype_unmet("input", input, "float32", "{op} expects floats")
    return wrong


@needs(*_forms("matrix_power linalg.matrix_power".split()))
def matrix_power(input: Meta, n: Any, **options: Any) -> Unmet | None:
    """Check that the matrices are square, and floats if `n` < 0 inverts them."""
    wrong = _of_square("input", input)
    if wrong is None and type(n) is int and n < 0:
        return _of_floats("input", input)
    return wrong


@needs(*_forms(ANY))
def matrices(input: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the input consists of float matrices, square if `hermitian`."""
    if options.get("hermitian"):
        return _of_square("input", input) or _of_floats("input", input)
    return of_matrices("input", input) or _of_floats("input", input)


@needs("torch.linalg.cond")
def cond(input: Meta, p: Any = None, **options: Any) -> Unmet | None:
    """Check that the input is float matrices, square if the norm needs the inverse."""
    wrong = of_matrices("input", input)
    if p not in (None, 2, -2):
        wrong = wrong or _of_square("input", input)
    return wrong or _of_floats("input", input)


def of_matrices(name: str, input: Meta) -> Unmet | None:
    """Check that the input has at least two dims."""
    shape = input.shape
    rank = len(shape)
    if rank >= 2:
        return None
    grants = (Grant(name, Made((*shape, *shape)[:2], input.dtype)),) if rank else ()
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects matrices, at least 2 dims, got {rank}: {{{name}}} is"
        f" {text(shape)}",
        Place(name),
        has=rank,
        needs=2,
        grants=grants,
    )


def _of_square(name: str, input: Meta) -> Unmet | None:
    """Check that the matrices have as many rows as columns."""
    wrong = of_matrices(name, input)
    shape = input.shape
    rank = len(shape)
    if wrong is not None or shape[-1] == shape[-2]:
        return wrong
    return Unmet(
        NOT_SQUARE,
        f"{{op}} expects square matrices, got {shape[-2]} rows and {shape[-1]} columns:"
        f" {{{name}}} is {text(shape)}",
        Place(name, rank - 1),
        Place(name, rank - 2),
        shape[-1],
        shape[-2],
        (Grant(name, resized(input, rank - 1, shape[-2])),),
        guessed=True,
    )


def _of_floats(name: str, input: Meta) -> Unmet | None:
    """Check that the input is a float of at least 32 bits."""
    if input.dtype in TAKEN:
        return None
    return dtype_unmet(name, input, "float32", "{op} expects float32 or float64")


def _one_dtype(*pairs: Named) -> Unmet | None:
    """Check that all tensors have the dtype of the last one with at least 32 bits."""
    last = [pair for pair in pairs if pair[1].dtype in TAKEN]
    if not last:
        return _of_floats(*pairs[0])
    name, reference = last[-1]
    for other, meta in pairs:
        if meta.dtype != reference.dtype:
            why = f"{{op}} expects inputs of one dtype: {{{name}}} is {reference.dtype}"
            return dtype_unmet(other, meta, reference.dtype, why, name)
    return None


def _of_rows(matrix: Named, right: Named, at: int, left: bool = True) -> Unmet | None:
    """Check that the right side has a row (or column) for each row of the matrix."""
    (first, A), (second, B) = matrix, right
    here = len(A.shape) - (2 if left else 1)
    wanted, have = A.shape[here], B.shape[at]
    if wanted == have:
        return None
    what = "rows" if left else "columns"
    return Unmet(
        INNER_DIM_MISMATCH,
        f"{{op}} needs {wanted} {what} in {{{second}}} {text(B.shape)}, as {{{first}}}"
        f" {text(A.shape)} has, got {have}",
        Place(second, at),
        Place(first, here),
        have,
        wanted,
        (Grant(second, resized(B, at, wanted)),),
    )


def of_columns(name: str, tensor: Meta) -> Unmet | None:
    """Check that the right sides are matrices; a vector has to be given as a column."""
    shape = tensor.shape
    if len(shape) >= 2:
        return None
    more = ": a vector is a column, `[:, None]`" if shape else ""
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects matrices, at least 2 dims, got {dims(len(shape))} of"
        f" {{{name}}} {text(shape)}{more}",
        Place(name),
        has=len(shape),
        needs=2,
        grants=(Grant(name, Made((*shape, 1), tensor.dtype)),) if shape else (),
    )


@needs("torch.linalg.solve", "torch.linalg.solve_ex")
def solve(A: Meta, B: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the matrix is square and that the right sides have as many rows."""
    wrong = _of_square("A", A)
    if wrong is not None:
        return wrong
    if not B.shape:
        return of_columns("B", B)
    left = options.get("left", True)
    matrix, sides = ("A", A), ("B", B)
    rank = len(B.shape)
    if _is_vector(A, B):
        wrong = _of_rows(matrix, sides, rank - 1) if left else of_columns("B", B)
    else:
        wrong = _of_rows(matrix, sides, rank - (2 if left else 1), left)
        wrong = wrong or of_batch(matrix, sides)
    return wrong or _one_dtype(sides, matrix)


def _is_vector(A: Meta, B: Meta) -> bool:
    """Return whether torch reads the right sides as vectors, one for each matrix."""
    one_less = len(A.shape) - 1 == len(B.shape)
    return len(B.shape) == 1 or (one_less and B.shape == A.shape[:-1])


@needs("torch.linalg.solve_triangular")
def solve_triangular(
    A: Meta, B: Meta, *, left: bool = True, **options: Any
) -> Unmet | None:
    """Check as `solve` does, except that a vector has to be given as a column."""
    wrong = _of_square("A", A) or of_columns("B", B)
    if wrong is not None:
        return wrong
    matrix, sides = ("A", A), ("B", B)
    wrong = _of_rows(matrix, sides, len(B.shape) - (2 if left else 1), left)
    return wrong or of_batch(matrix, sides) or _of_floats("A", A)


def _of_right(matrix: Named, sides: Named) -> Unmet | None:
    """Check that the matrix is square and that the columns have as many rows."""
    wrong = of_columns(*sides) or _of_square(*matrix)
    wrong = wrong or _of_rows(matrix, sides, len(sides[1].shape) - 2)
    return wrong or of_batch(matrix, sides) or _one_dtype(sides, matrix)


@needs(*named(*both("cholesky_solve")))
def cholesky_solve(B: Meta, L: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that there are columns and the square factor of a matrix."""
    return _of_right(("L", L), ("B", B))


@needs(*named(*both("triangular_solve")))
def triangular_solve(b: Meta, A: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that there are columns and a square matrix."""
    return _of_right(("A", A), ("b", b))


@needs("torch.linalg.lstsq")
def lstsq(A: Meta, B: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that both sides have the same number of rows."""
    wrong = of_matrices("A", A)
    if wrong is not None:
        return wrong
    if not B.shape:
        return of_columns("B", B)
    rank, have = len(A.shape), len(B.shape)
    if have not in (rank, rank - 1):
        kept = B.shape[:1] if have < rank else B.shape[have - rank :]
        shape = (*A.shape[:-2], *kept) if have < rank else kept
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects as many dims of {{B}} as of {{A}}, {rank}, or one less, "
            f"got"
            f" {have}: {{B}} is {text(B.shape)}",
            Place("B"),
            Place("A"),
            have,
            rank,
            (Grant("B", Made(shape, B.dtype)),),
            guessed=True,
        )
    matrix, sides = ("A", A), ("B", B)
    if _is_vector(A, B):
        return _of_rows(matrix, sides, have - 1) or _one_dtype(sides, matrix)
    if have == rank:
        wrong = _of_rows(matrix, sides, have - 2) or of_batch(matrix, sides)
        return wrong or _one_dtype(sides, matrix)
    fits = clash(A.shape[:-2], B.shape[:-1]) is None and B.shape[-2] == A.shape[-2]
    if fits:  # torch reads these as matrices, whatever it says
        return _one_dtype(sides, matrix)
    wanted = A.shape[:-1]
    return Unmet(
        INNER_DIM_MISMATCH,
        f"{{op}} needs a vector for each matrix, {text(wanted)}, for {{A}}"
        f" {text(A.shape)}, got {{B}} {text(B.shape)}",
        Place("B"),
        Place("A"),
        text(B.shape),
        text(wanted),
        (Grant("B", Made(wanted, B.dtype)),),
    )


@needs("torch.linalg.multi_dot", "torch.chain_matmul", "torch.functional.chain_matmul")
def multi_dot(tensors: Any, *rest: Any, **options: Any) -> Unmet | None:
    """Check that adjacent matrices can be multiplied; the ends may be vectors."""
    factors = list(tensors) if isinstance(tensors, tuple | list) else []
    if len(factors) < 2 or not all(map(is_tensor, factors)):
        return None
    for n, matrix in enumerate(factors):
        ends = n in (0, len(factors) - 1)
        if len(matrix.shape) == 2 or (ends and len(matrix.shape) == 1):
            continue
        fitting = (1, *matrix.shape) if len(matrix.shape) == 1 else matrix.shape[-2:]
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects matrices, got {dims(len(matrix.shape))} of {{tensors_{n}}}"
            f" {text(matrix.shape)}",
            Place(f"tensors.{n}"),
            has=len(matrix.shape),
            needs=2,
            grants=(Grant(f"tensors.{n}", Made(fitting, matrix.dtype)),)
            if fitting
            else (),
            guessed=True,
        )
    for n, (a, b) in enumerate(pairwise(factors)):
        if a.shape[-1] != b.shape[0]:
            return Unmet(
                INNER_DIM_MISMATCH,
                f"{{op}} needs as many columns in {{tensors_{n}}} {text(a.shape)} as"
                f" rows in {{tensors_{n + 1}}} {text(b.shape)}: {a.shape[-1]} against"
                f" {b.shape[0]}",
                Place(f"tensors.{n + 1}", 0),
                Place(f"tensors.{n}", len(a.shape) - 1),
                b.shape[0],
                a.shape[-1],
                (Grant(f"tensors.{n + 1}", resized(b, 0, a.shape[-1])),),
                guessed=True,
            )
    return same_dtype(*((f"tensors.{n}", matrix) for n, matrix in enumerate(factors)))
