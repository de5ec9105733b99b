"""torch_scatter: sums, means and extremes of rows by an index."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SOURCE = "signatures of https://pytorch-scatter.readthedocs.io, 2.1"
VERSION = "2.1.2"


def _spread(index: Tensor, src: Tensor, dim: int) -> Tensor:
    """Return an index of one dim with the shape of what it selects from."""
    dim = dim % src.dim()
    if index.dim() == 1:
        index = index.view(*[1] * dim, -1, *[1] * (src.dim() - dim - 1))
    return index.expand_as(src)


def scatter(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None, reduce: str = "sum",
) -> Tensor:  # fmt: skip
    """src (..., E, ...), index (E,) or as src: (..., dim_size, ...)."""
    index = _spread(index, src, dim)
    if out is None:
        size = list(src.shape)
        if dim_size is None:
            dim_size = int(index.max()) + 1 if index.numel() else 0
        size[dim] = dim_size
        out = src.new_zeros(size)
    names = {"sum": "sum", "add": "sum", "mul": "prod", "mean": "mean", "min": "amin",
             "max": "amax"}  # fmt: skip
    if reduce not in names:
        raise ValueError(reduce)
    return out.scatter_reduce(dim, index, src, names[reduce], include_self=False)


def scatter_sum(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """As `scatter`, adding."""
    return scatter(src, index, dim, out, dim_size, "sum")


def scatter_mean(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> Tensor:  # fmt: skip
    """As `scatter`, averaging."""
    return scatter(src, index, dim, out, dim_size, "mean")


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As `scatter`, the largest, and the places where they were."""
    values = scatter(src, index, dim, out, dim_size, "max")
    return values, torch.zeros_like(values, dtype=torch.long)


def scatter_min(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None,
    dim_size: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As `scatter`, the smallest, and the places where they were."""
    values = scatter(src, index, dim, out, dim_size, "min")
    return values, torch.zeros_like(values, dtype=torch.long)


def scatter_softmax(
    src: Tensor, index: Tensor, dim: int = -1, dim_size: int | None = None
) -> Tensor:
    """src (..., E, ...): weights of the same shape, that sum to one by index."""
    most = scatter(src, index, dim, None, dim_size, "max")
    spread = _spread(index, src, dim)
    raised = (src - most.gather(dim, spread)).exp()
    total = scatter(raised, index, dim, None, dim_size, "sum")
    return raised / total.gather(dim, spread)


MODULES: dict[str, dict[str, Any]] = {
    "": {"scatter": scatter, "scatter_add": scatter_sum, "scatter_sum": scatter_sum,
         "scatter_mean": scatter_mean, "scatter_max": scatter_max,
         "scatter_min": scatter_min, "scatter_softmax": scatter_softmax},
    "composite": {"scatter_softmax": scatter_softmax},
}  # fmt: skip
