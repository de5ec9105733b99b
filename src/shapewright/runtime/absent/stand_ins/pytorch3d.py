"""pytorch3d: neighbours of points, distances between clouds, rotations."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from shapewright.runtime.absent.stand_ins import _rotations
from shapewright.runtime.absent.stand_ins.torch_cluster import sample_farthest

SOURCE = "signatures of https://pytorch3d.readthedocs.io, 0.7"
VERSION = "0.7.8"


class _KNN(NamedTuple):
    """Squared distances, places, and the points if they were asked for."""

    dists: Tensor
    idx: Tensor
    knn: Tensor | None


def _require_clouds(p1: Tensor, p2: Tensor) -> None:
    if p1.shape[0] != p2.shape[0]:
        raise ValueError("pts1 and pts2 must have the same batch dimension.")
    if p1.shape[2] != p2.shape[2]:
        raise ValueError("pts1 and pts2 must have the same point dimension.")


def _mark_points(points: Tensor, lengths: Tensor | None) -> Tensor | None:
    """Return which points (N, P) are there, or None if all are."""
    if lengths is None:
        return None
    return torch.arange(points.shape[1], device=points.device) < lengths[:, None]


def knn_points(
    p1: Tensor, p2: Tensor, lengths1: Tensor | None = None,
    lengths2: Tensor | None = None, norm: int = 2, K: int = 1, version: int = -1,
    return_nn: bool = False, return_sorted: bool = True,
) -> _KNN:  # fmt: skip
    """p1 (N, P1, D), p2 (N, P2, D): `dists` and `idx` (N, P1, K), `knn`
    (N, P1, K, D).
    """
    _require_clouds(p1, p2)
    if norm not in (1, 2):
        raise ValueError("Support for 1 or 2 norm.")
    far = torch.cdist(p1.detach(), p2.detach(), p=float(norm))
    there = _mark_points(p2, lengths2)
    if there is not None:
        far = far.masked_fill(~there[:, None], float("inf"))
    count = min(K, p2.shape[1])
    idx = far.topk(count, largest=False).indices
    if count < K:
        idx = torch.nn.functional.pad(idx, (0, K - count))
    step = p1[:, :, None] - _gather(p2, idx)
    dists = step.abs().sum(-1) if norm == 1 else step.square().sum(-1)
    lengths = torch.full((p1.shape[0],), p2.shape[1], device=p1.device)
    lengths = lengths if lengths2 is None else lengths2
    if count < K or lengths2 is not None or lengths1 is not None:
        kept = torch.arange(K, device=p1.device) < lengths[:, None]
        keep = kept[:, None].expand_as(idx)
        rows = _mark_points(p1, lengths1)
        keep = keep if rows is None else keep & rows[..., None]
        idx, dists = idx * keep, dists * keep
    return _KNN(dists, idx, knn_gather(p2, idx, lengths2) if return_nn else None)


def _gather(x: Tensor, idx: Tensor) -> Tensor:
    """x (N, M, U), idx (N, L, K): (N, L, K, U)."""
    rows = torch.arange(x.shape[0], device=x.device)[:, None, None]
    return x[rows, idx]


def knn_gather(x: Tensor, idx: Tensor, lengths: Tensor | None = None) -> Tensor:
    """x (N, M, U), idx (N, L, K): (N, L, K, U)."""
    if x.shape[0] != idx.shape[0]:
        raise ValueError("x and idx must have same batch dimension.")
    out = _gather(x, idx)
    if lengths is None:
        return out
    kept = torch.arange(idx.shape[2], device=x.device) < lengths[:, None]
    return out * kept[:, None, :, None]


def masked_gather(points: Tensor, idx: Tensor) -> Any:
    """points (N, P, D), idx (N, K) or (N, L, K), -1 for none: (N, K, D), ..."""
    if idx.dim() not in (2, 3):
        raise ValueError(f"idx format is not supported {idx.shape!r}")
    if len(points) != len(idx):
        raise ValueError("points and idx must have the same batch dimension")
    flat = idx.clamp(min=0).flatten(1)
    rows = torch.arange(len(points), device=points.device)[:, None]
    out = points[rows, flat].unflatten(1, idx.shape[1:])
    return out * (idx >= 0).unsqueeze(-1)


def ball_query(
    p1: Tensor, p2: Tensor, lengths1: Tensor | None = None,
    lengths2: Tensor | None = None, K: int = 500, radius: float = 0.2,
    return_nn: bool = True, skip_points_outside_cube: bool = False,
) -> _KNN:  # fmt: skip
    """p1 (N, P1, D), p2 (N, P2, D): `dists` and `idx` (N, P1, K), -1 for none, `knn`
    (N, P1, K, D).
    """
    _require_clouds(p1, p2)
    near = torch.cdist(p1.detach(), p2.detach()) < radius
    for points, lengths, side in ((p1, lengths1, 2), (p2, lengths2, 1)):
        there = _mark_points(points, lengths)
        near = near if there is None else near & there.unsqueeze(side)
    places = torch.arange(p2.shape[1], device=p1.device).expand_as(near)
    places = places.where(near, p2.shape[1]).sort(-1).values[..., :K]
    idx = places.masked_fill(places == p2.shape[1], -1)
    if idx.shape[-1] < K:
        idx = torch.nn.functional.pad(idx, (0, K - idx.shape[-1]), value=-1)
    step = (p1[:, :, None] - masked_gather(p2, idx)).square().sum(-1)
    return _KNN(step * (idx >= 0), idx, masked_gather(p2, idx) if return_nn else None)


def sample_farthest_points(
    points: Tensor, lengths: Tensor | None = None, K: Any = 50,
    random_start_point: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """points (N, P, D): points (N, K, D), float32, and their places (N, K)."""
    if lengths is not None and lengths.shape != (points.shape[0],):
        raise ValueError("points and lengths must have same batch dimension.")
    if not isinstance(K, int):
        counts = torch.as_tensor(K, device=points.device)
        if counts.shape[0] != points.shape[0]:
            raise ValueError("K and points must have the same batch dimension")
        most = max(K) if isinstance(K, list) else int(counts.max())
    else:
        most, counts = K, None
    points = points.to(torch.float32)
    sampled = min(most, points.shape[1])
    idx = sample_farthest(points.detach(), sampled, random_start_point)
    idx = torch.nn.functional.pad(idx, (0, most - sampled), value=-1)
    limits = [limit for limit in (counts, lengths) if limit is not None]
    for limit in limits:
        beyond = torch.arange(most, device=points.device) >= limit[:, None]
        idx = idx.masked_fill(beyond, -1)
    return masked_gather(points, idx), idx


def chamfer_distance(
    x: Tensor, y: Tensor, x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None, x_normals: Tensor | None = None,
    y_normals: Tensor | None = None, weights: Tensor | None = None,
    batch_reduction: str | None = "mean", point_reduction: str | None = "mean",
    norm: int = 2, single_directional: bool = False, abs_cosine: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """x (N, P1, D), y (N, P2, D): a loss, and that of the normals, or None."""
    if batch_reduction not in (None, "mean", "sum"):
        raise ValueError('batch_reduction must be one of ["mean", "sum"] or None')
    if point_reduction not in (None, "mean", "sum", "max"):
        raise ValueError(
            'point_reduction must be one of ["mean", "sum", "max"] or None'
        )
    if point_reduction is None and batch_reduction is not None:
        raise ValueError("Batch reduction must be None if point_reduction is None")
    if norm not in (1, 2):
        raise ValueError("Support for 1 or 2 norm.")
    if x.dim() != 3 or y.dim() != 3:
        raise ValueError("Expected points to be of shape (N, P, D)")
    if y.shape[0] != x.shape[0] or y.shape[2] != x.shape[2]:
        raise ValueError("y does not have the correct shape.")
    if weights is not None and weights.size(0) != x.shape[0]:
        raise ValueError("weights must be of shape (N,).")
    how = (weights, point_reduction, norm, abs_cosine)
    sides = [_measure_side((x, x_lengths, x_normals), (y, y_lengths, y_normals), *how)]
    if not single_directional:
        sides.append(
            _measure_side((y, y_lengths, y_normals), (x, x_lengths, x_normals), *how)
        )
    return tuple(
        _join_sides(parts, weights, batch_reduction, point_reduction)
        for parts in zip(*sides, strict=True)
    )


def _measure_side(
    cloud: tuple[Any, ...], other: tuple[Any, ...], weights: Tensor | None,
    point_reduction: str | None, norm: int, abs_cosine: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return the distances of a cloud to another, and those of their normals."""
    x, lengths, normals = cloud
    near = knn_points(x, other[0], lengths, other[1], norm)
    parts: list[Tensor | None] = [near.dists[..., 0], None]
    if normals is not None and other[2] is not None:
        far = knn_gather(other[2], near.idx, other[1])[..., 0, :]
        likeness = torch.cosine_similarity(normals, far, dim=2, eps=1e-6)
        parts[1] = 1 - (likeness.abs() if abs_cosine else likeness)
    there = _mark_points(x, lengths)
    for place, part in enumerate(parts):
        if part is None:
            continue
        part = part if there is None else part * there
        part = part if weights is None else part * weights[:, None]
        if point_reduction == "max":
            part = part.amax(1)
        elif point_reduction is not None:
            part = part.sum(1)
        if point_reduction == "mean":
            part = part / (x.shape[1] if lengths is None else lengths.clamp(min=1))
        parts[place] = part
    return parts[0], parts[1]  # type: ignore[return-value]


def _join_sides(
    parts: tuple[Any, ...], weights: Any, batch_reduction: Any, point_reduction: Any
) -> Any:
    """Return the loss of one or both directions."""
    if parts[0] is None:
        return None
    if len(parts) == 1:
        loss = parts[0]
    elif point_reduction == "max":
        loss = torch.maximum(*parts)
    elif point_reduction is not None:
        loss = parts[0] + parts[1]
    else:
        return parts
    if batch_reduction is None:
        return loss
    total = loss.sum()
    if batch_reduction == "mean":
        total = total / (len(loss) if weights is None else weights.sum())
    return total


_OPS = {
    function.__name__: function
    for function in (
        knn_points,
        knn_gather,
        ball_query,
        sample_farthest_points,
        masked_gather,
    )
}
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "ops": _OPS,
    "ops.knn": {"knn_points": knn_points, "knn_gather": knn_gather},
    "ops.ball_query": {"ball_query": ball_query},
    "ops.sample_farthest_points": {"sample_farthest_points": sample_farthest_points},
    "ops.utils": {"masked_gather": masked_gather},
    "loss": {"chamfer_distance": chamfer_distance},
    "loss.chamfer": {"chamfer_distance": chamfer_distance},
    "transforms": _rotations.FUNCTIONS,
    "transforms.rotation_conversions": _rotations.FUNCTIONS,
}  # fmt: skip
