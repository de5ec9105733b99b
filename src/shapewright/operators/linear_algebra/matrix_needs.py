"""Needs of functions of matrices and vectors, and of distances between vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shapewright.findings.codes import (
    CROSS_OF_THREE,
    INNER_DIM_MISMATCH,
    REPEATED_DIM,
    WRONG_RANK,
)
from shapewright.operators.dtype_needs import (
    no_bools,
    no_complex,
    some_float,
    wide_floats,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.linear_algebra.needs import of_columns, of_matrices
from shapewright.operators.matmul.needs import of_batch, of_ranks, of_summand
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dtype_unmet,
    is_tensor,
    of_rank,
    resized,
    same_dtype,
    text,
)
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.pointwise.needs import broadcast
from shapewright.operators.promotion_and_broadcasting import KIND
from shapewright.operators.reduction.needs import of_dim


@needs(*named(*both("trace")))
def trace(input: Meta) -> Unmet | None:
    """Check that the input is a single matrix of numbers."""
    return of_rank("input", input, 2, 2) or _refuse_bools("input", input)


def _refuse_bools(name: str, input: Meta) -> Unmet | None:
    """Check that the input is not bool, as bools have no sum or product here."""
    if input.dtype != "bool":
        return None
    return dtype_unmet(name, input, "int64", "{op} expects numbers")


@needs(*named(*both("tril", "triu")), "torch.Tensor.tril_", "torch.Tensor.triu_")
def triangle(input: Meta, diagonal: int = 0, **options: Any) -> Unmet | None:
    """Check that the input has at least two dims."""
    return of_matrices("input", input)


@needs(*named(*both("t")), "torch.Tensor.t_")
def turned(input: Meta) -> Unmet | None:
    """Check that the input has at most two dims; `.mT` accepts more."""
    wrong = of_rank("input", input, 0, 2)
    if wrong is None:
        return None
    shape = input.shape
    output = Made((*shape[:-2], shape[-1], shape[-2]), input.dtype)
    message = f"{wrong.message}; `.mT` swaps the last two of any number"
    return replace(wrong, message=message, grants=(), makes=(output,), guessed=False)


@needs(*named(*both("diag")))
def diag(input: Meta, diagonal: int = 0, **options: Any) -> Unmet | None:
    """Check that the input is a vector or a matrix."""
    return of_rank("input", input, 1, 2)


def of_plane(
    input: Meta, first: Any, second: Any, names: tuple[str, str], extra: int = 0
) -> Unmet | None:
    """Check that both dims exist and differ from each other."""
    for name, dim in zip(names, (first, second), strict=True):
        wrong = of_dim("input", input, dim, name, extra)
        if wrong is not None:
            return wrong
    rank = len(input.shape) + extra
    if (
        type(first) is not int
        or type(second) is not int
        or first % rank != second % rank
    ):
        return None
    fits = next((d for d in range(rank) if d != first % rank), None)
    return Unmet(
        REPEATED_DIM,
        f"{{op}} needs two dims of {{input}} {text(input.shape)}, got {first} and"
        f" {second}",
        Place("input"),
        has=second,
        needs=fits,
        grants=() if fits is None else (Grant(names[1], fits),),
        guessed=True,
    )


@needs(*named(*both("diagonal")))
def diagonal(
    input: Meta, offset: int = 0, dim1: Any = 0, dim2: Any = 1
) -> Unmet | None:
    """Check that the input has at least two dims, and that both given dims exist."""
    return of_matrices("input", input) or of_plane(input, dim1, dim2, ("dim1", "dim2"))


@needs("torch.linalg.diagonal")
def linalg_diagonal(
    input: Meta, *, offset: int = 0, dim1: Any = -2, dim2: Any = -1
) -> Unmet | None:
    """Check the arguments as `diagonal` does."""
    return of_matrices("input", input) or of_plane(input, dim1, dim2, ("dim1", "dim2"))


@needs(*named(*both("diag_embed")))
def diag_embed(
    input: Meta, offset: int = 0, dim1: Any = -2, dim2: Any = -1
) -> Unmet | None:
    """Check that the two new dims are within the dims of the output."""
    return of_plane(input, dim1, dim2, ("dim1", "dim2"), 1)


@needs("torch.linalg.cross")
def cross(input: Meta, other: Meta, *, dim: Any = -1, **options: Any) -> Unmet | None:
    """Check that `dim` has size 3 in both tensors and that the other dims broadcast."""
    if len(input.shape) != len(other.shape):
        return _of_same_rank(input, other)
    wrong = of_dim("input", input, dim) if input.shape else None
    wrong = wrong or _of_three("input", input, dim) or _of_three("other", other, dim)
    wrong = wrong or broadcast([("input", input), ("other", other)])
    wrong = wrong or same_dtype(("input", input), ("other", other))
    return wrong or _refuse_bools("input", input)


@needs(*named(*both("cross")))
def any_cross(
    input: Meta, other: Meta, dim: Any = None, **options: Any
) -> Unmet | None:
    """Check as `linalg.cross` does; without `dim`, some dim must have size 3."""
    if dim is not None:
        return cross(input, other, dim=dim)
    if len(input.shape) != len(other.shape):
        return _of_same_rank(input, other)
    wide = [max(a, b) for a, b in zip(input.shape, other.shape, strict=True)]
    wrong = broadcast([("input", input), ("other", other)])
    if wrong is not None:
        return wrong
    if 3 in wide or not wide:
        wrong = same_dtype(("input", input), ("other", other))
        return wrong or _refuse_bools("input", input)
    grants = tuple(
        Grant(name, resized(tensor, -1, 3))
        for name, tensor in (("input", input), ("other", other))
    )
    return Unmet(
        CROSS_OF_THREE,
        f"{{op}} needs a dim of 3, got {{input}} {text(input.shape)} and {{other}}"
        f" {text(other.shape)}",
        Place("input"),
        has=text(input.shape),
        needs=3,
        grants=grants,
        guessed=True,
    )


def _of_same_rank(input: Meta, other: Meta) -> Unmet:
    """Report that two tensors have different numbers of dims."""
    missing = len(input.shape) - len(other.shape)
    fitting = (*(1,) * missing, *other.shape) if missing > 0 else input.shape
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects as many dims of {{other}} as of {{input}}:"
        f" {{other}} is {text(other.shape)}, {{input}} is {text(input.shape)}",
        Place("other"),
        Place("input"),
        len(other.shape),
        len(input.shape),
        (Grant("other", Made(fitting, other.dtype)),),
        guessed=True,
    )


def _of_three(name: str, input: Meta, dim: Any) -> Unmet | None:
    """Check that the input has size 3 along a dim."""
    if type(dim) is not int or not input.shape or input.shape[dim] == 3:
        return None
    at = dim % len(input.shape)
    return Unmet(
        CROSS_OF_THREE,
        f"{{op}} needs 3 numbers along dim {at} of {{{name}}} {text(input.shape)}, got"
        f" {input.shape[at]}",
        Place(name, at),
        None,
        input.shape[at],
        3,
        (Grant(name, resized(input, at, 3)),),
    )


@needs(*named(*both("inner")))
def inner(input: Meta, other: Meta, **options: Any) -> Unmet | None:
    """Check that the last dims of both tensors have the same size."""
    if not input.shape or not other.shape:
        return same_dtype(("input", input), ("other", other))
    size, other_size = input.shape[-1], other.shape[-1]
    if size != other_size:
        last = len(other.shape) - 1
        return Unmet(
            INNER_DIM_MISMATCH,
            f"{{op}} multiplies the last dims of {{input}} {text(input.shape)} and"
            f" {{other}} {text(other.shape)}: {size} against {other_size}",
            Place("other", last),
            Place("input", len(input.shape) - 1),
            other_size,
            size,
            (Grant("other", resized(other, last, size)),),
            guessed=True,
        )
    return same_dtype(("input", input), ("other", other))


@needs("torch.linalg.vecdot")
def vecdot(x: Meta, y: Meta, *, dim: Any = -1, **options: Any) -> Unmet | None:
    """Check that both tensors broadcast and have the same dtype."""
    wrong = broadcast([("x", x), ("y", y)]) or same_dtype(("x", x), ("y", y))
    return wrong or of_dim("x", x, dim)


@needs(*named(*both("addr")))
def addr(input: Meta, vec1: Meta, vec2: Meta, **options: Any) -> Unmet | None:
    """Check that there are two vectors, and the input broadcasts to their product."""
    wrong = of_ranks(("vec1", vec1), 1, ("vec2", vec2), 1)
    if wrong is not None:
        return wrong
    return of_summand(input, (vec1.shape[0], vec2.shape[0]))


@needs(*named(*both("cov", "corrcoef")))
def cov(input: Meta, **options: Any) -> Unmet | None:
    """Check that the input has at most 2 dims, with a row for each variable."""
    wrong = of_rank("input", input, 0, 2, " (variables, observations)")
    return wrong or _refuse_bools("input", input)


@needs("torch.cartesian_prod", "torch.functional.cartesian_prod")
def cartesian_prod(*tensors: Any) -> Unmet | None:
    """Check that all tensors are vectors with the same dtype."""
    for n, tensor in enumerate(tensors):
        if is_tensor(tensor) and len(tensor.shape) != 1:
            return of_rank(f"tensors.{n}", tensor, 1, 1)
    return same_dtype(*((f"tensors.{n}", tensor) for n, tensor in enumerate(tensors)))


@needs("torch.combinations")
def combinations(input: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the input is a vector."""
    return of_rank("input", input, 1, 1)


@needs("torch.linalg.matrix_norm")
def matrix_norm(
    A: Meta, ord: Any = "fro", dim: Any = (-2, -1), *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the input consists of float matrices and that the two dims exist."""
    wrong = of_matrices("A", A)
    if wrong is None and not isinstance(dim, int):
        wrong = _of_dims("A", A, dim)
    return wrong or _of_norm("A", A, options)


@needs("torch.linalg.vector_norm", "torch.linalg.norm")
def vector_norm(
    x: Meta, ord: Any = None, dim: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the input is float and that the dims exist."""
    return _of_dims("x", x, dim) or _of_norm("x", x, options)


def _of_dims(name: str, input: Meta, dim: Any) -> Unmet | None:
    """Check that the dims exist; no repair is suggested for a repeated dim."""
    wrong = of_dim(name, input, dim) if dim is not None else None
    if wrong is not None and wrong.code == REPEATED_DIM:
        return replace(wrong, grants=())
    return wrong


@needs("torch.functional.norm", "torch.norm", "torch.Tensor.norm")
def norm(
    input: Meta, p: Any = "fro", dim: Any = None, *rest: Any, **options: Any
) -> Any:
    """Check the arguments as `vector_norm` does."""
    return _of_dims("input", input, dim) or _of_norm("input", input, options)


def _of_norm(name: str, input: Meta, options: dict[str, Any]) -> Unmet | None:
    """Check that the input is a float, as the norm of integers is not defined."""
    if KIND.get(options.get("dtype") or input.dtype, 2) >= 2:
        return None
    return dtype_unmet(name, input, "float32", "{op} expects floats")


@needs("torch.functional.cdist", "torch.cdist")
def cdist(x1: Meta, x2: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the rows of both tensors have the same size."""
    wrong = of_columns("x1", x1) or of_columns("x2", x2)
    if wrong is not None:
        return wrong
    size, other_size = x1.shape[-1], x2.shape[-1]
    if size != other_size:
        last = len(x2.shape) - 1
        return Unmet(
            INNER_DIM_MISMATCH,
            f"{{op}} compares rows of {{x1}} {text(x1.shape)} and {{x2}}"
            f" {text(x2.shape)} number by number: {size} against {other_size}",
            Place("x2", last),
            Place("x1", len(x1.shape) - 1),
            other_size,
            size,
            (Grant("x2", resized(x2, last, size)),),
            guessed=True,
        )
    named = ("x1", x1), ("x2", x2)
    return of_batch(*named) or wide_floats(*named) or same_dtype(*named)


@needs("torch.pdist", "torch.nn.functional.pdist")
def pdist(input: Meta, p: float = 2.0) -> Unmet | None:
    """Check that the input is a matrix with a vector in each row."""
    shape = input.shape
    if len(shape) != 2:
        fitting = (1, *shape) if len(shape) < 2 else shape[-2:]
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 2 dims (vectors, numbers), got {len(shape)}: {{input}} is"
            f" {text(shape)}",
            Place("input"),
            has=len(shape),
            needs=2,
            grants=(Grant("input", Made(fitting, input.dtype)),) if shape else (),
            guessed=True,
        )
    return wide_floats(("input", input))


@needs("torch.pairwise_distance", "torch.nn.functional.pairwise_distance")
def pairwise(x1: Meta, x2: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that both tensors broadcast and are not bool."""
    named = ("x1", x1), ("x2", x2)
    return broadcast(named) or no_bools(*named)


@needs("torch.cosine_similarity", "torch.nn.functional.cosine_similarity")
def cosine_similarity(
    x1: Meta, x2: Meta, dim: Any = 1, eps: float = 1e-8
) -> Unmet | None:
    """Check the dim, and that the tensors are real, broadcast, and one is a float."""
    wrong = broadcast([("x1", x1), ("x2", x2)])
    if wrong is None:
        longer = ("x1", x1) if len(x1.shape) >= len(x2.shape) else ("x2", x2)
        wrong = of_dim(*longer, dim)
    named = ("x1", x1), ("x2", x2)
    return wrong or no_complex(*named) or some_float(*named)
