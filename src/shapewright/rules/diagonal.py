"""Diagonals, as copies: vectors put on them, and taken from them."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.elementwise import new
from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import KNOWN
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous


def _diagonal(input: Meta, shape: Any, node: str) -> Made:
    return new(shape, input.dtype, contiguous(shape), node)


@rule("torch.diag", "torch.Tensor.diag")
def diag(input: Meta, diagonal: int = 0, *, out: Any = None) -> Any:
    """`(3,)` gives (3, 3) with it on the diagonal; (3, 5) gives its diagonal, (3,)."""
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
    """`(8, 3)` gives (8, 3, 3), each row on a diagonal."""
    if (dim1, dim2) != (-2, -1) or type(offset) is not int or not input.shape:
        return NotImplemented
    if input.dtype not in KNOWN:
        return NotImplemented
    size = input.shape[-1] + abs(offset)
    return _diagonal(input, (*input.shape[:-1], size, size), "DiagEmbedBackward0")


@rule("torch.diagflat", "torch.Tensor.diagflat")
def diagflat(input: Meta, offset: int = 0) -> Any:
    """`(2, 3)` gives (6, 6) with all its elements on the diagonal."""
    if type(offset) is not int or input.dtype not in KNOWN:
        return NotImplemented
    size = prod(input.shape) + abs(offset)
    return _diagonal(input, (size, size), "DiagEmbedBackward0")
