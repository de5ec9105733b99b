"""What `scatter` and its sums return, and the indices that they refuse."""

from __future__ import annotations

from typing import Any

from shapewright.operators.metadata_rules import (
    Made,
    Meta,
    Misfit,
    listed,
    wrap_dim,
)
from shapewright.sizes.strides import contiguous

Shape = tuple[int, ...]

INDEX = ("int64", "int32")
"""Dtypes of an index."""
EXPANDED_ROWS = 16
"""Elements of a row from which the CPU adds rows by one index for each of them."""


def has_short_row_index(input: Meta, dim: object, index: Meta, src: Any) -> bool:
    """Return whether an index is int32 where the CPU adds whole rows, since it is one
    column that was expanded: there it takes int64 only (ATen,
    `can_use_expanded_index_path`).
    """
    if index.dtype != "int32":
        return False
    if input.device != "cpu" or not input.dtype.startswith(("float", "bfloat")):
        return False
    if not index.shape or dim not in (0, -len(index.shape)) or 0 in index.shape:
        return False
    rest = 1
    for size in index.shape[1:]:
        rest *= size
    return (
        rest >= EXPANDED_ROWS
        and index.stride[:1] == (1,)
        and not any(index.stride[1:])
        and input.stride == contiguous(input.shape)
        and getattr(src, "stride", None) == contiguous(src.shape)
    )


def find_larger_dim(index: Shape, shape: Shape, dim: int) -> int | None:
    """Return the first dim except `dim` in which the index is larger, or None."""
    for at, (want, have) in enumerate(zip(index, shape, strict=True)):
        if at != dim and want > have:
            return at
    return None


def infer_scattered(
    input: Meta, dim: int, index: Meta, src: Any, node: str, *, method: str = "scatter"
) -> Any:
    """Infer what `scatter` returns, of a number or of a tensor."""
    shape, want = input.shape, index.shape
    if not shape or not want or 0 in want or 0 in shape or type(dim) is not int:
        return NotImplemented
    at = wrap_dim(dim, len(shape))
    if index.dtype not in INDEX or len(shape) != len(want):
        return NotImplemented
    number = type(src) in (int, float, bool)
    if not number:
        if not hasattr(src, "shape") or len(src.shape) != len(want):
            return NotImplemented
        if src.dtype != input.dtype:
            raise Misfit(f"{method}(): Expected self.dtype to be equal to src.dtype")
        if find_larger_dim(want, shape, at) is not None or (
            find_larger_dim(want, src.shape, -1) is not None
        ):
            raise Misfit(
                f"Expected index {listed(want)} to be no larger than self "
                f"{listed(shape)} apart from dimension {at} and to be no larger size "
                f"than src {listed(src.shape)}"
            )
    elif find_larger_dim(want, shape, at) is not None:
        return NotImplemented
    return Made(shape, input.dtype, None, node.replace("?", "1" if number else "0"))


def infer_summed(input: Meta, dim: int, index: Meta, src: Meta) -> Any:
    """Infer what `scatter_add` returns, which the CPU may refuse."""
    if has_short_row_index(input, dim, index, src):
        raise Misfit("expected scalar type Long but found Int")
    return infer_scattered(input, dim, index, src, "ScatterAddBackward0")
