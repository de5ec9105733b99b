"""A tensor with some places overwritten or added to, as a new tensor."""

from __future__ import annotations

from typing import Any

from shapewright.rules.broadcasting import broadcast
from shapewright.rules.elementwise import likened, new
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import KIND, KNOWN
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous, is_dense


def _rows(input: Meta, dim: Any, index: Meta) -> bool:
    """Whether one index of whole numbers stands for rows along a dim."""
    ndim = len(input.shape)
    return (
        type(dim) is int
        and ndim > 0
        and -ndim <= dim < ndim
        and len(index.shape) == 1
        and index.dtype == "int64"
        and 0 not in input.shape
        and input.dtype in KNOWN
    )


def _written(input: Meta, dim: int, index: Meta, source: Meta, node: str) -> Any:
    if not _rows(input, dim, index) or source.dtype != input.dtype:
        return NotImplemented
    at = dim % len(input.shape)
    want = (*input.shape[:at], index.shape[0], *input.shape[at + 1 :])
    if source.shape != want:
        return NotImplemented
    return new(input.shape, input.dtype, contiguous(input.shape), node)


@rule("torch.index_add", "torch.Tensor.index_add")
def index_add(
    input: Meta, dim: int, index: Meta, source: Meta, *, alpha: Any = 1, out: Any = None
) -> Any:
    """`(8, 16)` with (3, 16) added at three rows gives (8, 16)."""
    if out is not None or input.dtype == "bool" or type(alpha) not in (int, float):
        return NotImplemented
    if type(alpha) is float and KIND[input.dtype] < 2:
        return NotImplemented
    return _written(input, dim, index, source, "IndexAddBackward0")


@rule("torch.index_copy", "torch.Tensor.index_copy")
def index_copy(
    input: Meta, dim: int, index: Meta, source: Meta, *, out: Any = None
) -> Any:
    """`(8, 16)` with (3, 16) at three rows gives (8, 16)."""
    if out is not None:
        return NotImplemented
    return _written(input, dim, index, source, "IndexCopyBackward0")


@rule("torch.Tensor.index_add_", writes=0)
def index_add_in_place(
    self: Meta, dim: int, index: Meta, source: Meta, *, alpha: Any = 1
) -> Any:
    """As `index_add`, into its argument."""
    return _kept(self, index_add(self, dim, index, source, alpha=alpha))


@rule("torch.Tensor.index_copy_", writes=0)
def index_copy_in_place(self: Meta, dim: int, index: Meta, source: Meta) -> Any:
    """As `index_copy`, into its argument."""
    return _kept(self, index_copy(self, dim, index, source))


def _kept(self: Meta, made: Any) -> Any:
    """The tensor that is written, unless elements of it share their memory."""
    if made is NotImplemented or not is_dense(self.shape, self.stride):
        return NotImplemented
    return Made(self.shape, self.dtype, self.stride, made.grad_fn)


@rule("torch.index_fill", "torch.Tensor.index_fill")
def index_fill(input: Meta, dim: int, index: Meta, value: Any) -> Any:
    """`(8, 16)` with a number in some rows gives (8, 16)."""
    if not _rows(input, dim, index) or type(value) not in (int, float):
        return NotImplemented
    if KIND[input.dtype] < (1 if type(value) is int else 2):
        return NotImplemented
    return likened(input, input.dtype, "IndexFillBackward0")


@rule("torch.scatter_reduce", "torch.Tensor.scatter_reduce")
def scatter_reduce(
    input: Meta, dim: int, index: Meta, src: Meta, reduce: str, *,
    include_self: bool = True, out: Any = None,
) -> Any:  # fmt: skip
    """`(8, 16)` with (3, 16) reduced into it along dim 0 gives (8, 16)."""
    shape, want = input.shape, index.shape
    ndim = len(shape)
    if out is not None or reduce not in ("sum", "prod", "mean", "amax", "amin"):
        return NotImplemented
    if not 0 < ndim == len(want) == len(src.shape) or 0 in want or 0 in shape:
        return NotImplemented
    if type(dim) is not int or not -ndim <= dim < ndim or index.dtype != "int64":
        return NotImplemented
    if KIND.get(input.dtype) not in (1, 2) or src.dtype != input.dtype:
        return NotImplemented
    for at in range(ndim):
        if want[at] > src.shape[at] or (want[at] > shape[at] and at != dim % ndim):
            return NotImplemented
    return new(shape, input.dtype, contiguous(shape), "ScatterReduceBackward0")


@rule("torch.take_along_dim", "torch.Tensor.take_along_dim")
def take_along_dim(
    input: Meta, indices: Meta, dim: Any = None, *, out: Any = None
) -> Any:
    """`(8, 16)` at indices (8, 3) along dim 1 gives (8, 3); other dims broadcast."""
    shape, places = input.shape, indices.shape
    ndim = len(shape)
    if out is not None or type(dim) is not int or not 0 < ndim == len(places):
        return NotImplemented
    if not -ndim <= dim < ndim or indices.dtype != "int64" or input.dtype not in KNOWN:
        return NotImplemented
    if 0 in shape or 0 in places:
        return NotImplemented
    at = dim % ndim
    apart = [(*one[:at], 1, *one[at + 1 :]) for one in (shape, places)]
    try:
        common = broadcast(*apart)
    except Misfit:
        return NotImplemented
    made = (*common[:at], places[at], *common[at + 1 :])
    return new(made, input.dtype, contiguous(made), "GatherBackward0")


@rule("torch.take", "torch.Tensor.take")
def take(input: Meta, index: Meta, *, out: Any = None) -> Any:
    """`(8, 16)`, seen as one row, at (3,) gives (3,)."""
    if out is not None or index.dtype != "int64" or input.dtype not in KNOWN:
        return NotImplemented
    if 0 in input.shape or 0 in index.shape or index.stride != contiguous(index.shape):
        return NotImplemented
    return new(index.shape, input.dtype, index.stride, "TakeBackward0")
