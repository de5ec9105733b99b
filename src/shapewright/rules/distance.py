"""Distances and similarities of vectors."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.axes import axis
from shapewright.rules.broadcasting import broadcast
from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule

Shape = tuple[int, ...]


def common_shape(*metas: Meta) -> Shape | None:
    """The broadcast shape of float tensors of one dtype; None leaves it to torch."""
    dtype = metas[0].dtype
    if dtype not in FLOATING or any(meta.dtype != dtype for meta in metas):
        return None
    try:
        shape = broadcast(*(meta.shape for meta in metas))
    except Misfit:
        return None
    return None if 0 in shape else shape


@rule("torch.cosine_similarity", "torch.nn.functional.cosine_similarity")
def cosine_similarity(x1: Meta, x2: Meta, dim: int = 1, eps: float = 1e-8) -> Any:
    """Two of (8, 64) over dim 1 give (8,); shapes broadcast."""
    shape = common_shape(x1, x2)
    if not shape:
        return NotImplemented
    gone = axis(dim, len(shape))
    made = (*shape[:gone], *shape[gone + 1 :])
    return Made(made, x1.dtype, None, "SumBackward1")


@rule("torch.pairwise_distance", "torch.nn.functional.pairwise_distance")
def pairwise_distance(
    x1: Meta, x2: Meta, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """Two of (8, 64) give (8,): the norm of their difference over the last dim."""
    shape = common_shape(x1, x2)
    if not shape or type(p) not in (int, float):
        return NotImplemented
    made = (*shape[:-1], 1) if keepdim else shape[:-1]
    return Made(made, x1.dtype, None, "NormBackward1")


@rule("torch.dist", "torch.Tensor.dist")
def dist(input: Meta, other: Meta, p: Any = 2) -> Any:
    """The norm of a difference: a 0-dim tensor."""
    if common_shape(input, other) is None:
        return NotImplemented
    return Made((), input.dtype, (), "DistBackward0")


@rule("torch.pdist", "torch.nn.functional.pdist")
def pdist(input: Meta, p: float = 2) -> Any:
    """`(8, 64)` gives (28,): the distance of every two rows."""
    if input.dtype not in ("float32", "float64") or len(input.shape) != 2:
        return NotImplemented
    rows = input.shape[0]
    if 0 in input.shape or rows < 2 or p < 0:
        return NotImplemented
    return Made((rows * (rows - 1) // 2,), input.dtype, None, "PdistBackward0")


MANY = 25
"""With more rows than this, Euclidean distances come from a product of matrices."""


@rule("torch.cdist")
def cdist(
    x1: Meta, x2: Meta, p: Any = 2.0,
    compute_mode: Any = "use_mm_for_euclid_dist_if_necessary",
) -> Any:  # fmt: skip
    """`(8, 4, 3)` and (8, 5, 3) give (8, 4, 5): every row with every row."""
    one, two = x1.shape, x2.shape
    if x1.dtype != x2.dtype or x1.dtype not in ("float32", "float64"):
        return NotImplemented
    if min(len(one), len(two)) < 2 or one[-1] != two[-1] or not prod(one + two):
        return NotImplemented
    if p < 0 or not isinstance(compute_mode, str):
        return NotImplemented
    try:
        batch = broadcast(one[:-2], two[:-2])
    except Misfit:
        return NotImplemented
    never = compute_mode == "donot_use_mm_for_euclid_dist"
    small = max(one[-2], two[-2]) <= MANY
    if compute_mode == "use_mm_for_euclid_dist":
        small = False
    node = "CdistBackward0" if p != 2 or never or small else None
    return Made((*batch, one[-2], two[-2]), x1.dtype, None, node)
