"""torch_scatter: sums, means and extremes of rows by an index."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SOURCE = "signatures of https://pytorch-scatter.readthedocs.io, 2.1"
VERSION = "2.1.2"
NAMES = {"mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}


def broadcast(src: Tensor, other: Tensor, dim: int) -> Tensor:
    """Return an index with the shape of what it selects from."""
    dim = dim % other.dim()
    if src.dim() == 1:
        src = src.view(*[1] * dim, -1)
    src = src.view(*src.shape, *[1] * (other.dim() - src.dim()))
    return src.expand_as(other)


def _count_rows(index: Tensor, dim_size: int | None) -> int:
    """Return how many rows an index reaches: the largest, and one."""
    if dim_size is not None:
        return dim_size
    return int(index.max()) + 1 if index.numel() else 0


def _size_out(src: Tensor, index: Tensor, dim: int, dim_size: int | None) -> list[int]:
    size = list(src.shape)
    size[dim] = _count_rows(index, dim_size)
    return size


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """src (..., E, ...), index (E,) or as src: (..., dim_size, ...), added; `out` is
    added to.
    """
    index = broadcast(index, src, dim)
    if out is None:
        out = src.new_zeros(_size_out(src, index, dim, dim_size))
    return out.scatter_add_(dim, index, src)


def scatter_add(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """As `scatter_sum`."""
    return scatter_sum(src, index, dim, out, dim_size)


def scatter_mul(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """As `scatter_sum`, multiplied; 1 where no index is."""
    index = broadcast(index, src, dim)
    if out is None:
        out = src.new_ones(_size_out(src, index, dim, dim_size))
    return out.scatter_reduce(dim, index, src, "prod", include_self=True)


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """As `scatter_sum`, averaged."""
    index = broadcast(index, src, dim)
    out = scatter_sum(src, index, dim, out, dim_size)
    ones = torch.ones_like(src)
    count = scatter_sum(ones, index, dim, None, out.shape[dim]).clamp(min=1)
    if out.is_floating_point():
        return out / count
    return out.div(count, rounding_mode="floor")


def _scatter_extreme(
    src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None,
    reduce: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return extremes, 0 where no index is, and their places, the size there."""
    index = broadcast(index, src, dim)
    kept = out is not None
    if out is None:
        out = src.new_zeros(_size_out(src, index, dim, dim_size))
    values = out.scatter_reduce(dim, index, src, NAMES[reduce], include_self=kept)
    length = src.shape[dim]
    shape = [1] * src.dim()
    shape[dim] = -1
    places = torch.arange(length, device=src.device).view(shape).expand_as(src)
    hit = src.detach() == values.detach().gather(dim, index)
    places = places.where(hit, length)
    arguments = torch.full_like(values, length, dtype=torch.long, requires_grad=False)
    return values, arguments.scatter_reduce(dim, index, places, "amin")


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As `scatter_sum`, the largest, and the places where they were."""
    return _scatter_extreme(src, index, dim, out, dim_size, "max")


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As `scatter_sum`, the smallest, and the places where they were."""
    return _scatter_extreme(src, index, dim, out, dim_size, "min")


def scatter(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None, reduce: str = "sum",
) -> Tensor:  # fmt: skip
    """src (..., E, ...), index (E,) or as src: (..., dim_size, ...)."""
    match reduce:
        case "sum" | "add":
            return scatter_sum(src, index, dim, out, dim_size)
        case "mul":
            return scatter_mul(src, index, dim, out, dim_size)
        case "mean":
            return scatter_mean(src, index, dim, out, dim_size)
        case "min" | "max":
            return _scatter_extreme(src, index, dim, out, dim_size, reduce)[0]
    raise ValueError


def _require_floats(name: str, src: Tensor) -> None:
    if not src.is_floating_point():
        raise ValueError(
            f"`{name}` can only be computed over tensors with floating point data "
            "types."
        )


def scatter_softmax(
    src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None
) -> Tensor:
    """src (..., E, ...): weights of the same shape, that sum to one by index."""
    _require_floats("scatter_softmax", src)
    index = broadcast(index, src, dim)
    most = _scatter_extreme(src, index, dim, None, dim_size, "max")[0]
    raised = (src - most.gather(dim, index)).exp()
    return raised / scatter_sum(raised, index, dim, None, dim_size).gather(dim, index)


def scatter_log_softmax(
    src: Tensor, index: Tensor, dim: int = -1, eps: float = 1e-12,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """src (..., E, ...): the logs of `scatter_softmax`."""
    _require_floats("scatter_log_softmax", src)
    index = broadcast(index, src, dim)
    most = _scatter_extreme(src, index, dim, None, dim_size, "max")[0]
    centred = src - most.gather(dim, index)
    total = scatter_sum(centred.exp(), index, dim, None, dim_size)
    return centred - (total + eps).log().gather(dim, index)


def scatter_logsumexp(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None, eps: float = 1e-12,
) -> Tensor:  # fmt: skip
    """src (..., E, ...): (..., dim_size, ...), 0 where no index is."""
    _require_floats("scatter_logsumexp", src)
    index = broadcast(index, src, dim)
    most = _scatter_extreme(src, index, dim, None, dim_size, "max")[0]
    raised = (src - most.gather(dim, index)).exp()
    total = scatter_sum(raised, index, dim, None, most.shape[dim])
    sums = (total + eps).log() + most
    return sums.where(total > 0, torch.zeros_like(sums))


def scatter_std(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None, unbiased: bool = True,
) -> Tensor:  # fmt: skip
    """src (..., E, ...): (..., dim_size, ...)."""
    index = broadcast(index, src, dim)
    mean = scatter_mean(src, index, dim, None, dim_size)
    squares = (src - mean.gather(dim, index)).square()
    total = scatter_sum(squares, index, dim, out, mean.shape[dim])
    count = scatter_sum(torch.ones_like(src), index, dim, None, mean.shape[dim])
    count = (count.clamp(min=1) - 1).clamp(min=1) if unbiased else count.clamp(min=1)
    return (total / (count + 1e-6)).sqrt()


def segment_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: int | None = None,
    reduce: str = "sum",
) -> Tensor:  # fmt: skip
    """src (..., E, ...), index (..., E), sorted: as `scatter` along its last dim."""
    if reduce not in ("sum", "add", "mean", "min", "max"):
        raise ValueError
    return scatter(src, index, index.dim() - 1, out, dim_size, reduce)


def segment_csr(
    src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum"
) -> Tensor:
    """src (E, ...), indptr (rows + 1,): (rows, ...)."""
    if reduce not in ("sum", "add", "mean", "min", "max"):
        raise ValueError
    if indptr.dim() != 1:
        shape = list(src.shape)
        shape[indptr.dim() - 1] = indptr.shape[-1] - 1
        return src.new_zeros(shape) + src.sum() * 0
    index = _number_rows(indptr, src.shape[0])
    return scatter(src, index, 0, out, indptr.shape[0] - 1, reduce)


def _number_rows(indptr: Tensor, length: int) -> Tensor:
    """Return the row of each element of a compressed index."""
    places = torch.arange(length, device=indptr.device)
    return torch.bucketize(places, indptr[1:], right=True)


def gather_coo(src: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """src (..., rows, ...), index (..., E): (..., E, ...)."""
    dim = index.dim() - 1
    if index.dim() == 1:
        return src.index_select(0, index)
    wide = index.view(*index.shape, *[1] * (src.dim() - index.dim()))
    return src.gather(dim, wide.expand(*index.shape, *src.shape[dim + 1 :]))


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """src (rows, ...), indptr (rows + 1,): (elements, ...), each row repeated."""
    length = int(indptr[-1]) if out is None else out.shape[0]
    return src.index_select(0, _number_rows(indptr, length))


_FUNCTIONS = {
    function.__name__: function
    for function in (
        scatter, scatter_sum, scatter_add, scatter_mul, scatter_mean, scatter_max,
        scatter_min, scatter_softmax, scatter_log_softmax, scatter_logsumexp,
        scatter_std, segment_coo, segment_csr, gather_coo, gather_csr,
    )
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": _FUNCTIONS,
    "scatter": {k: v for k, v in _FUNCTIONS.items() if k.startswith("scatter")},
    "utils": {"broadcast": broadcast},
    "composite": {
        "scatter_softmax": scatter_softmax, "scatter_log_softmax": scatter_log_softmax,
        "scatter_logsumexp": scatter_logsumexp, "scatter_std": scatter_std,
    },
}  # fmt: skip
