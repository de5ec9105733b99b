"""Needs of embeddings and one-hot vectors: integer indices within range."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.findings.codes import BAG_OFFSETS, INDEX_OUT_OF_RANGE, WRONG_RANK
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    dtype_unmet,
    is_tensor,
    out_of_range,
    text,
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.promotion_and_broadcasting import KIND

WHOLE = ("int64", "int32")


@needs("torch.nn.functional.embedding")
def embedding(input: Meta, weight: Meta, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the row numbers are int64 or int32 and exist in the table."""
    return _of_rows(input, weight, "input", "weight")


@needs("torch.embedding")
def aten_embedding(
    weight: Meta, indices: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Check the indices as `embedding` does; the first argument is the table."""
    return _of_rows(indices, weight, "indices", "weight")


def _of_rows(index: Meta, weight: Meta, name: str, table: str) -> Unmet | None:
    """Check that the indices are integers within the table."""
    if len(weight.shape) != 2:
        return _of_table(weight, table)
    if index.dtype not in WHOLE:
        why = "{op} looks up rows by integers (int64)"
        return dtype_unmet(name, index, "int64", why)
    return out_of_range(name, index, weight.shape[0], table, 0)


def _of_table(weight: Meta, table: str) -> Unmet:
    """Report a table that is not a matrix (rows, features)."""
    shape = weight.shape
    fitting = (*shape, 1)[:2] if len(shape) < 2 else shape[-2:]
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects a table of 2 dims (rows, features), got {dims(len(shape))}:"
        f" {{{table}}} is {text(shape)}",
        Place(table),
        has=len(shape),
        needs=2,
        grants=(Grant(table, Made(fitting, weight.dtype)),) if shape else (),
        guessed=True,
    )


@needs("torch.nn.functional.one_hot")
def one_hot(tensor: Meta, num_classes: int = -1) -> Unmet | None:
    """Check that the classes are int64 and below the number of classes."""
    if tensor.dtype != "int64":
        why = "{op} expects class indices (int64)"
        return dtype_unmet("tensor", tensor, "int64", why)
    values: tuple[int, ...] | None = getattr(tensor, "values", None)
    if not values:
        return None
    top, low = max(values), min(values)
    if low < 0:
        return Unmet(
            INDEX_OUT_OF_RANGE,
            f"{{op}} expects class indices from 0 on, but {{tensor}} has {low}",
            Place("tensor"),
            has=low,
            needs=0,
            grants=(Grant("tensor", Made(tensor.shape, "int64")),),
        )
    if num_classes == -1 or top < num_classes:
        return None
    return Unmet(
        INDEX_OUT_OF_RANGE,
        f"{{op}} makes {num_classes} classes, 0 to {num_classes - 1}, but {{tensor}}"
        f" has {top}"
        if num_classes > 0
        else f"{{op}} makes no classes with {num_classes}, but {{tensor}} has {top}",
        None,
        None,
        top,
        num_classes,
        (Grant("num_classes", top + 1),),
        guessed=True,
    )


@needs("torch.nn.functional.embedding_bag")
def embedding_bag(
    input: Meta,
    weight: Meta,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Check that bags are rows of ids, or a vector of ids with an offset per bag."""
    if len(weight.shape) == 2 and weight.dtype in (*WHOLE, "bool"):
        return dtype_unmet(
            "weight", weight, "float32", "{op} expects a table of floats"
        )
    rank = len(input.shape)
    if rank not in (1, 2):
        fitting = input.shape[-2:] if rank else (1, 1)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 2 dims (bags, ids), or 1 with offsets, got {rank}: "
            f"{{input}}"
            f" is {text(input.shape)}",
            Place("input"),
            has=rank,
            needs=2,
            grants=(Grant("input", Made(fitting, input.dtype)),),
            guessed=True,
        )
    if (rank == 2) == is_tensor(offsets):
        return _of_bags(input, offsets)
    wrong = _of_rows(input, weight, "input", "weight")
    wrong = wrong or (_of_offsets(input, offsets) if is_tensor(offsets) else None)
    weights = per_sample_weights
    if wrong is None and is_tensor(weights) and weights.shape != input.shape:
        return Unmet(
            BAG_OFFSETS,
            f"{{op}} expects a weight for each id: {{input}} is {text(input.shape)},"
            f" {{per_sample_weights}} is {text(weights.shape)}",
            Place("per_sample_weights"),
            Place("input"),
            text(weights.shape),
            text(input.shape),
            (Grant("per_sample_weights", Made(input.shape, weights.dtype)),),
        )
    return wrong


def _of_bags(input: Meta, offsets: Any) -> Unmet:
    """Report offsets given with 2-dim ids, or missing with 1-dim ids."""
    if is_tensor(offsets):
        message = f"{{op}} reads each row of {{input}} {text(input.shape)} as a bag and"
        message += " takes no offsets with it"
        grant = Grant("offsets", None)
    else:
        message = "{op} expects ids in 1 dim with offsets, the places where bags begin:"
        message += f" {{input}} is {text(input.shape)}; rows need 2 dims"
        grant = Grant("input", Made((1, *input.shape), input.dtype))
    return Unmet(
        BAG_OFFSETS,
        message,
        Place("input"),
        has=len(input.shape),
        needs=3 - len(input.shape),
        grants=(grant,),
        guessed=True,
    )


def _of_offsets(input: Meta, offsets: Meta) -> Unmet | None:
    """Check that the first bag begins at 0 and that the last begins within the ids."""
    count = input.shape[0]
    if len(offsets.shape) != 1:
        fitting = (prod(offsets.shape),)
        return Unmet(
            BAG_OFFSETS,
            f"{{op}} expects offsets in 1 dim, got {dims(len(offsets.shape))}:"
            f" {{offsets}} is {text(offsets.shape)}",
            Place("offsets"),
            has=len(offsets.shape),
            needs=1,
            grants=(Grant("offsets", Made(fitting, offsets.dtype)),),
        )
    if KIND.get(offsets.dtype, 0) >= 2:
        return dtype_unmet(
            "offsets", offsets, "int64", "{op} expects offsets of dtype int64"
        )
    values: tuple[int, ...] = getattr(offsets, "values", None) or (0,)
    bad, fits = (values[0], 0) if values[0] else (values[-1], count)
    if not values[0] and bad <= count:
        return None
    return Unmet(
        BAG_OFFSETS,
        f"{{op}} expects offsets from 0 to {count}, the number of ids, but {{offsets}}"
        f" {'begins' if values[0] else 'ends'} with {bad}",
        Place("offsets"),
        has=bad,
        needs=fits,
        grants=(Grant("offsets", Made(offsets.shape, offsets.dtype)),),
    )
