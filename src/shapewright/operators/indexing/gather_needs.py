"""Needs of `gather`, `scatter`, `index_select`, `index_add` and related functions."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    INDEX_OUT_OF_RANGE,
    NOT_CONTIGUOUS,
    NOT_POSITIVE,
    REPEAT_COUNTS,
    SOURCE_SHAPE,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.indexing.scattered_elements import has_short_row_index
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dtype_unmet,
    is_tensor,
    of_dim,
    of_positive,
    out_of_range,
    resized,
    same_rank,
    text,
    vector,
    whole,
    within,
)
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.pointwise.needs import broadcast
from shapewright.operators.promotion_and_broadcasting import (
    broadcast as shapes_together,
)
from shapewright.operators.view_operators.needs import viewable


@needs("torch.gather")
def gather(input: Meta, dim: Any, index: Meta, **options: Any) -> Unmet | None:
    """Check that the index has the input's rank and fits into it except along `dim`."""
    wrong = of_dim(input, "input", dim) or whole("index", index, ("int64", "int32"))
    if wrong is not None or not input.shape or 0 in index.shape:
        return wrong
    if index.shape:
        wrong = same_rank("input", input, "index", index)
        wrong = wrong or within("index", index, "input", input, dim % len(input.shape))
    at = dim % len(input.shape)
    return wrong or out_of_range(
        "index", index, input.shape[at], "input", at, "indices"
    )


@needs("torch.scatter_add")
def scatter_add(
    input: Meta, dim: Any, index: Meta, src: Any = None, **options: Any
) -> Unmet | None:
    """Check what `scatter_add_` checks."""
    return _of_sum("input", input, dim, index, src)


@needs("torch.scatter", "torch.scatter_reduce")
def scatter(
    input: Meta, dim: Any, index: Meta, src: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the index fits into the source and, except along `dim`, the input."""
    return _of_scatter("input", input, dim, index, src)


@needs("torch.Tensor.scatter_", "torch.Tensor.scatter_reduce_")
def scatter_(
    self: Meta, dim: Any, index: Meta, src: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Check an in-place `scatter_` in the way `scatter` is checked."""
    return _of_scatter("self", self, dim, index, src)


@needs("torch.Tensor.scatter_add_")
def scatter_add_(
    self: Meta, dim: Any, index: Meta, src: Any = None, **options: Any
) -> Unmet | None:
    """Check an index of rows, which is int64 on the CPU, and what `scatter` needs."""
    return _of_sum("self", self, dim, index, src)


def _of_sum(name: str, input: Meta, dim: Any, index: Meta, src: Any) -> Unmet | None:
    if has_short_row_index(input, dim, index, src):
        why = "{op} adds whole rows by this index, which it expects as int64"
        return dtype_unmet("index", index, "int64", why)
    return _of_scatter(name, input, dim, index, src)


def _of_scatter(
    name: str, input: Meta, dim: Any, index: Meta, src: Any
) -> Unmet | None:
    """Check the dims and dtypes of the input, the index and the source."""
    wrong = of_dim(input, name, dim) or whole("index", index, ("int64", "int32"))
    if wrong is None and is_tensor(src) and src.dtype != input.dtype:
        why = f"{{op}} writes into {input.dtype}"
        wrong = dtype_unmet("src", src, input.dtype, why, name)
    if wrong is not None or not input.shape or 0 in index.shape:
        return wrong
    wrong = same_rank(name, input, "index", index) if index.shape else None
    at = dim % len(input.shape)
    if wrong is None and is_tensor(src):
        both = src.shape and index.shape
        wrong = same_rank("index", index, "src", src) if both else None
        if wrong is None and len(src.shape) == len(index.shape):
            wrong = within("index", index, "src", src, None)
    if index.shape:
        wrong = wrong or within("index", index, name, input, at)
    if wrong is not None:
        return wrong
    return out_of_range("index", index, input.shape[at], name, at, "indices")


@needs("torch.sparse_coo_tensor")
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, **options: Any
) -> Unmet | None:
    """Check that each entry lies within the size."""
    entries = getattr(indices, "values", None)
    if not is_tensor(indices) or not entries or not isinstance(size, tuple | list):
        return None
    count = indices.shape[-1]
    for dim, most in enumerate(size[: indices.shape[0]]):
        row = entries[dim * count : (dim + 1) * count]
        bad = max(row) if max(row) >= most else min(row)
        if not 0 <= bad < most:
            return Unmet(
                INDEX_OUT_OF_RANGE,
                f"{{op}} of size {text(size)} has indices 0 to {most - 1} in dim {dim},"
                f" but {{indices}} {text(indices.shape)} holds {bad}",
                Place("indices"),
                has=bad,
                needs=most,
                grants=(Grant("indices", Made(indices.shape, indices.dtype)),),
            )
    return None


@needs("torch.take_along_dim")
def take_along_dim(
    input: Meta, indices: Meta, dim: Any = None, **options: Any
) -> Unmet | None:
    """Check that the indices have the input's rank and broadcast except along `dim`."""
    if dim is None:
        return whole("indices", indices, ("int64", "int32")) or _of_one_piece(
            input, indices
        )
    wrong = of_dim(input, "input", dim) or whole("indices", indices)
    wrong = wrong or same_rank("input", input, "indices", indices)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    for d, (size, index_size) in enumerate(
        zip(input.shape, indices.shape, strict=True)
    ):
        if d != at and size != index_size and 1 not in (size, index_size):
            return Unmet(
                BROADCAST_MISMATCH,
                f"{{op}} lines up {{input}} {text(input.shape)} and {{indices}}"
                f" {text(indices.shape)} but in dim {at}: {size} against {index_size}"
                " in"
                f" dim {d}",
                Place("indices", d),
                Place("input", d),
                index_size,
                size,
                (Grant("indices", resized(indices, d, size)),),
            )
    return None  # torch does not compare these indices with the size


def _of_one_piece(input: Meta, indices: Meta) -> Unmet | None:
    """Check that both tensors can be viewed as vectors, which is done without `dim`."""
    for name, tensor in (("input", input), ("indices", indices)):
        if not viewable(tensor.shape, tensor.stride, (prod(tensor.shape),)):
            return Unmet(
                NOT_CONTIGUOUS,
                f"{{op}} without a dim views {{{name}}} {text(tensor.shape)} as one"
                " row, but its elements do not lie in this order",
                Place(name),
                has="not contiguous",
                needs="contiguous",
                grants=(Grant(name, Made(tensor.shape, tensor.dtype)),),
            )
    return None


@needs("torch.index_select")
def index_select(input: Meta, dim: Any, index: Meta, **options: Any) -> Unmet | None:
    """Check that the index is a vector of indices within the range of the dim."""
    wrong = of_dim(input, "input", dim) or whole("index", index, ("int64", "int32"))
    wrong = wrong or vector(index)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    return out_of_range("index", index, input.shape[at], "input", at, "indices")


@needs("torch.index_add", "torch.index_copy")
def index_add(
    input: Meta, dim: Any, index: Meta, source: Any, **options: Any
) -> Unmet | None:
    """Check that the source has a slice for each index."""
    return _of_slices("input", input, dim, index, source)


@needs("torch.Tensor.index_add_", "torch.Tensor.index_copy_")
def index_add_(
    self: Meta, dim: Any, index: Meta, source: Any, **options: Any
) -> Unmet | None:
    """Check an in-place `index_add_` in the way `index_add` is checked."""
    return _of_slices("self", self, dim, index, source)


def _of_slices(
    name: str, input: Meta, dim: Any, index: Meta, source: Any
) -> Unmet | None:
    """Check that the source has the input's shape, with a slice for each index."""
    wrong = of_dim(input, name, dim) or whole("index", index, ("int64", "int32"))
    wrong = wrong or vector(index)
    if wrong is not None or not input.shape or not is_tensor(source):
        return wrong
    at = dim % len(input.shape)
    count = index.shape[0] if index.shape else 1
    wanted = (*input.shape[:at], count, *input.shape[at + 1 :])
    if source.shape != wanted:
        d = None
        if len(source.shape) == len(wanted):
            d = next(
                n
                for n, p in enumerate(zip(source.shape, wanted, strict=True))
                if p[0] != p[1]
            )
        return Unmet(
            SOURCE_SHAPE,
            f"{{op}} needs {{source}} as {text(wanted)}, a slice of {{{name}}}"
            f" {text(input.shape)} for each of {count} indices, got"
            f" {text(source.shape)}",
            Place("source", d),
            Place("index", 0) if d == at and index.shape else Place(name, d),
            text(source.shape) if d is None else source.shape[d],
            text(wanted) if d is None else wanted[d],
            (Grant("source", Made(wanted, source.dtype)),),
        )
    if source.dtype != input.dtype:
        why = f"{{op}} writes into {input.dtype}"
        return dtype_unmet("source", source, input.dtype, why, name)
    return out_of_range("index", index, input.shape[at], name, at, "indices")


@needs(*named(*both("index_fill")), "torch.Tensor.index_fill_")
def index_fill(input: Meta, dim: Any, index: Meta, value: Any) -> Unmet | None:
    """Check that the indices are in range and that the value is a single number."""
    wrong = of_dim(input, "input", dim) or whole("index", index) or vector(index)
    wrong = wrong or _of_one("value", value)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    return out_of_range("index", index, size, "input", at, "indices", least=-size)


def _of_one(name: str, value: Any) -> Unmet | None:
    """Check that the value is a number or a 0-dim tensor."""
    if not is_tensor(value) or not value.shape:
        return None
    return Unmet(
        WRONG_RANK,
        f"{{op}} fills with one value, got {{{name}}} {text(value.shape)}",
        Place(name),
        has=len(value.shape),
        needs=0,
        grants=(Grant(name, Made((), value.dtype)),),
    )


@needs(*named(*both("index_reduce")), "torch.Tensor.index_reduce_")
def index_reduce(
    input: Meta, dim: Any, index: Meta, source: Meta, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that the source has a slice for each index."""
    return _of_slices("input", input, dim, index, source)


@needs(*named(*both("take")))
def take(input: Meta, index: Meta, **options: Any) -> Unmet | None:
    """Check that the indices exist in the flattened input."""
    return whole("index", index) or _of_elements("input", input, index)


def _of_elements(name: str, input: Meta, index: Meta) -> Unmet | None:
    """Check that the indices are within the range of the flattened input."""
    count = prod(input.shape)
    wrong = out_of_range("index", index, count, name, 0, "elements", least=-count)
    return None if wrong is None else replace(wrong, wanted=None)


@needs("torch.Tensor.put_", *named(*both("put")))
def put(
    input: Meta, index: Meta, source: Any, accumulate: bool = False
) -> Unmet | None:
    """Check that the source has an element for each index."""
    wrong = whole("index", index)
    if wrong is not None or not is_tensor(source):
        return wrong
    have, wanted = prod(source.shape), prod(index.shape)
    if have != wanted:
        return Unmet(
            SOURCE_SHAPE,
            f"{{op}} needs {wanted} elements, one for each of {{index}}"
            f" {text(index.shape)}, got {have}: {{source}} is {text(source.shape)}",
            Place("source"),
            Place("index"),
            have,
            wanted,
            (Grant("source", Made(index.shape, source.dtype)),),
        )
    if source.dtype != input.dtype:
        why = f"{{op}} writes into {input.dtype}"
        return dtype_unmet("source", source, input.dtype, why, "input")
    return _of_elements("input", input, index)


@needs(*named(*both("masked_scatter")), "torch.Tensor.masked_scatter_")
def masked_scatter(input: Meta, mask: Meta, source: Meta) -> Unmet | None:
    """Check that the bool mask broadcasts and that the source has enough elements."""
    if mask.dtype != "bool":
        return dtype_unmet("mask", mask, "bool", "{op} expects a bool mask")
    wrong = broadcast([("input", input), ("mask", mask)])
    if wrong is not None:
        return wrong
    if source.dtype != input.dtype:
        why = f"{{op}} writes into {input.dtype}"
        return dtype_unmet("source", source, input.dtype, why, "input")
    values: tuple[int, ...] | None = getattr(mask, "values", None)
    have, size = prod(source.shape), shapes_together(input.shape, mask.shape)
    if values is None:
        return None
    wanted = sum(map(bool, values)) * prod(size) // max(prod(mask.shape), 1)
    if have >= wanted:
        return None
    return Unmet(
        SOURCE_SHAPE,
        f"{{op}} needs {wanted} elements, as {{mask}} is true at so many places, got"
        f" {have}: {{source}} is {text(source.shape)}",
        Place("source"),
        Place("mask"),
        have,
        wanted,
        (Grant("source", Made((wanted,), source.dtype)),),
    )


@needs(*named(*both("repeat_interleave")))
def repeat_interleave(
    input: Meta, repeats: Any = None, dim: Any = None, **options: Any
) -> Unmet | None:
    """Check that there is a count for each slice along the dim, or for each element."""
    wrong = of_dim(input, "input", dim) if dim is not None else None
    if wrong is not None:
        return wrong
    if type(repeats) is int:
        return of_positive("repeats", repeats, 0)
    if not is_tensor(repeats):
        return None
    if repeats.dtype not in ("int64", "int32"):
        return dtype_unmet(
            "repeats", repeats, "int64", "{op} expects counts of dtype int64"
        )
    wrong = vector(repeats, "repeats", "counts")
    size = (
        prod(input.shape) if dim is None else (*input.shape, 1)[dim % _rank_of(input)]
    )
    if wrong is not None or repeats.shape in ((), (1,), (size,)):
        return wrong or _of_counts(repeats)
    at = dim % _rank_of(input) if dim is not None else None
    counted = "elements" if at is None else f"slices of dim {at}"
    return Unmet(
        REPEAT_COUNTS,
        f"{{op}} needs a count for each of {size} {counted} of {{input}}"
        f" {text(input.shape)}, got {repeats.shape[0]}",
        Place("repeats", 0),
        Place("input", at) if input.shape else None,
        repeats.shape[0],
        size,
        (Grant("repeats", Made((size,), repeats.dtype)),),
    )


def _rank_of(input: Meta) -> int:
    """Return the number of dims, which is 1 for a scalar."""
    return max(len(input.shape), 1)


def _of_counts(repeats: Meta) -> Unmet | None:
    """Check that the counts, if their values are known, are at least 0."""
    values: tuple[int, ...] = getattr(repeats, "values", None) or ()
    if min(values, default=0) >= 0:
        return None
    return Unmet(
        NOT_POSITIVE,
        f"{{op}} expects counts of at least 0, got {min(values)} in {{repeats}}",
        Place("repeats"),
        has=min(values),
        needs=0,
        grants=(Grant("repeats", Made(repeats.shape, repeats.dtype)),),
    )
