"""What functions need that read or write slices at indices."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from shapewright.rules.broadcasting import broadcast as shapes_together
from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.broadcasting import broadcast
from shapewright.rules.needs.dims import both, named
from shapewright.rules.needs.indices import of_dim, vector, whole
from shapewright.rules.needs.known import out_of_range
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dtype_unmet, is_tensor, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import of_positive


@needs("torch.index_select")
def index_select(input: Meta, dim: Any, index: Meta, **options: Any) -> Unmet | None:
    """A vector of indices within the dim."""
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
    """A slice of the source for each index."""
    return of_slices("input", input, dim, index, source)


@needs("torch.Tensor.index_add_", "torch.Tensor.index_copy_")
def index_add_(
    self: Meta, dim: Any, index: Meta, source: Any, **options: Any
) -> Unmet | None:
    """The same, in place."""
    return of_slices("self", self, dim, index, source)


def of_slices(
    name: str, input: Meta, dim: Any, index: Meta, source: Any
) -> Unmet | None:
    """The source is the input, with as many slices as indices."""
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
            "source-shape",
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
    """Indices within the dim, and one value."""
    wrong = of_dim(input, "input", dim) or whole("index", index) or vector(index)
    wrong = wrong or of_one("value", value)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    return out_of_range("index", index, size, "input", at, "indices", least=-size)


def of_one(name: str, value: Any) -> Unmet | None:
    """One value: a number, or a tensor without dims."""
    if not is_tensor(value) or not value.shape:
        return None
    return Unmet(
        "wrong-rank",
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
    """A slice of the source for each index."""
    return of_slices("input", input, dim, index, source)


@needs(*named(*both("take")))
def take(input: Meta, index: Meta, **options: Any) -> Unmet | None:
    """Indices of elements that are counted row by row."""
    return whole("index", index) or of_elements("input", input, index)


def of_elements(name: str, input: Meta, index: Meta) -> Unmet | None:
    """Indices of elements that are there, counted row by row."""
    count = prod(input.shape)
    wrong = out_of_range("index", index, count, name, 0, "elements", least=-count)
    return None if wrong is None else replace(wrong, wanted=None)


@needs("torch.Tensor.put_", *named(*both("put")))
def put(
    input: Meta, index: Meta, source: Any, accumulate: bool = False
) -> Unmet | None:
    """An element of the source for each index."""
    wrong = whole("index", index)
    if wrong is not None or not is_tensor(source):
        return wrong
    have, wanted = prod(source.shape), prod(index.shape)
    if have != wanted:
        return Unmet(
            "source-shape",
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
    return of_elements("input", input, index)


@needs(*named(*both("masked_scatter")), "torch.Tensor.masked_scatter_")
def masked_scatter(input: Meta, mask: Meta, source: Meta) -> Unmet | None:
    """A mask of bools that lines up, and an element for each place where it is true."""
    if mask.dtype != "bool":
        return dtype_unmet("mask", mask, "bool", "{op} takes a mask of bools")
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
        "source-shape",
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
    """A count for each slice of a dim, or for each element."""
    wrong = of_dim(input, "input", dim) if dim is not None else None
    if wrong is not None:
        return wrong
    if type(repeats) is int:
        return of_positive("repeats", repeats, 0)
    if not is_tensor(repeats):
        return None
    if repeats.dtype not in ("int64", "int32"):
        return dtype_unmet("repeats", repeats, "int64", "{op} takes counts of int64")
    wrong = vector(repeats, "repeats", "counts")
    size = prod(input.shape) if dim is None else (*input.shape, 1)[dim % rank_of(input)]
    if wrong is not None or repeats.shape in ((), (1,), (size,)):
        return wrong or of_counts(repeats)
    at = dim % rank_of(input) if dim is not None else None
    said = "elements" if at is None else f"slices of dim {at}"
    return Unmet(
        "repeat-counts",
        f"{{op}} needs a count for each of {size} {said} of {{input}}"
        f" {text(input.shape)}, got {repeats.shape[0]}",
        Place("repeats", 0),
        Place("input", at) if input.shape else None,
        repeats.shape[0],
        size,
        (Grant("repeats", Made((size,), repeats.dtype)),),
    )


def rank_of(input: Meta) -> int:
    """The number of dims, 1 for a scalar."""
    return max(len(input.shape), 1)


def of_counts(repeats: Meta) -> Unmet | None:
    """Counts of at least 0, where they are known."""
    values: tuple[int, ...] = getattr(repeats, "values", None) or ()
    if min(values, default=0) >= 0:
        return None
    return Unmet(
        "not-positive",
        f"{{op}} takes counts of at least 0, got {min(values)} in {{repeats}}",
        Place("repeats"),
        has=min(values),
        needs=0,
        grants=(Grant("repeats", Made(repeats.shape, repeats.dtype)),),
    )
