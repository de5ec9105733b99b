"""What `gather`, `scatter` and `take_along_dim` need."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.indices import of_dim, same_rank, whole, within
from shapewright.rules.needs.known import out_of_range
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.reshaping import viewable
from shapewright.rules.needs.shapes import (
    dtype_unmet,
    is_tensor,
    resized,
    text,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet


@needs("torch.gather")
def gather(input: Meta, dim: Any, index: Meta, **options: Any) -> Unmet | None:
    """As many dims, and no larger than the input but along `dim`."""
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


@needs("torch.scatter_add", "torch.scatter", "torch.scatter_reduce")
def scatter(
    input: Meta, dim: Any, index: Meta, src: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Indices no larger than what is written but along `dim`, nor than the source."""
    return of_scatter("input", input, dim, index, src)


@needs(
    "torch.Tensor.scatter_", "torch.Tensor.scatter_add_", "torch.Tensor.scatter_reduce_"
)
def scatter_(
    self: Meta, dim: Any, index: Meta, src: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """The same, in place."""
    return of_scatter("self", self, dim, index, src)


def of_scatter(name: str, input: Meta, dim: Any, index: Meta, src: Any) -> Unmet | None:
    """The dims of three tensors."""
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


@needs("torch.take_along_dim")
def take_along_dim(
    input: Meta, indices: Meta, dim: Any = None, **options: Any
) -> Unmet | None:
    """Indices with as many dims, that broadcast but along `dim`."""
    if dim is None:
        return whole("indices", indices, ("int64", "int32")) or of_one_piece(
            input, indices
        )
    wrong = of_dim(input, "input", dim) or whole("indices", indices)
    wrong = wrong or same_rank("input", input, "indices", indices)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    for d, (one, two) in enumerate(zip(input.shape, indices.shape, strict=True)):
        if d != at and one != two and 1 not in (one, two):
            return Unmet(
                "broadcast-mismatch",
                f"{{op}} lines up {{input}} {text(input.shape)} and {{indices}}"
                f" {text(indices.shape)} but in dim {at}: {one} against {two} in dim"
                f" {d}",
                Place("indices", d),
                Place("input", d),
                two,
                one,
                (Grant("indices", resized(indices, d, one)),),
            )
    return None  # torch does not compare these indices with the size


def of_one_piece(input: Meta, indices: Meta) -> Unmet | None:
    """Without a dim, both are viewed as one row."""
    for name, each in (("input", input), ("indices", indices)):
        if not viewable(each.shape, each.stride, (prod(each.shape),)):
            return Unmet(
                "not-contiguous",
                f"{{op}} without a dim views {{{name}}} {text(each.shape)} as one row,"
                " but its elements do not lie in this order",
                Place(name),
                has="not contiguous",
                needs="contiguous",
                grants=(Grant(name, Made(each.shape, each.dtype)),),
            )
    return None
