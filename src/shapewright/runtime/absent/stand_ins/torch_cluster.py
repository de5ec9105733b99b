"""torch_cluster: neighbours, samples and clusters of points in one row.

How many pairs `radius` has depends on the points: data-free tensors have as many as the
run assumes, and tells. `knn` has k for each point; a batch with fewer points than k has
fewer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SOURCE = "signatures of https://github.com/rusty1s/pytorch_cluster, 1.6"
VERSION = "1.6.3"


def _spread(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return points (N, F) of (N,) or (N, F), and refuse widths that differ."""
    x = x.view(-1, 1) if x.dim() == 1 else x
    y = y.view(-1, 1) if y.dim() == 1 else y
    if x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[1]:
        raise RuntimeError("Input mismatch")
    return x, y


def _measure(
    x: Tensor, y: Tensor, batch_x: Tensor | None, batch_y: Tensor | None, cosine: bool
) -> Tensor:
    """Return the distances (M, N) from y to x; infinite between batches."""
    x, y = x.detach().float(), y.detach().float()
    if cosine:
        x, y = (torch.nn.functional.normalize(points, dim=-1) for points in (x, y))
        far = 1 - y @ x.mT
    else:
        far = (y[:, None] - x[None]).square().sum(-1).sqrt()
    if batch_x is not None and batch_y is not None:
        far = far.masked_fill(batch_y[:, None] != batch_x[None], float("inf"))
    return far


def _require_batches(
    x: Tensor, y: Tensor, batch_x: Tensor | None, batch_y: Tensor | None
) -> None:
    for points, batch in ((x, batch_x), (y, batch_y)):
        assert batch is None or points.shape[0] == batch.numel()
    assert (batch_x is None) == (batch_y is None)


def knn(
    x: Tensor, y: Tensor, k: int, batch_x: Tensor | None = None,
    batch_y: Tensor | None = None, cosine: bool = False, num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """x (N, F), y (M, F): (2, M k), for each of y the k nearest of x."""
    x, y = _spread(x, y)
    _require_batches(x, y, batch_x, batch_y)
    k = min(k, x.shape[0])
    nearest_ones = _measure(x, y, batch_x, batch_y, cosine).topk(k, largest=False)
    rows = torch.arange(y.shape[0], device=x.device)[:, None].expand(-1, k)
    pairs = torch.stack((rows.flatten(), nearest_ones.indices.flatten()))
    if batch_x is None:
        return pairs
    return pairs[:, nearest_ones.values.flatten().isfinite()]


def knn_graph(
    x: Tensor, k: int, batch: Tensor | None = None, loop: bool = False,
    flow: str = "source_to_target", cosine: bool = False, num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """x (N, F): the edges (2, N k) from the k nearest points to each."""
    assert flow in ["source_to_target", "target_to_source"]
    x, _ = _spread(x, x)
    far = _measure(x, x, batch, batch, cosine)
    if not loop:
        far = far + torch.zeros_like(far).fill_diagonal_(float("inf"))
    k = min(k, x.shape[0] - (not loop))
    nearest_ones = far.topk(k, largest=False)
    rows = torch.arange(x.shape[0], device=x.device)[:, None].expand(-1, k).flatten()
    pairs = _orient(torch.stack((rows, nearest_ones.indices.flatten())), flow)
    if batch is None:
        return pairs
    return pairs[:, nearest_ones.values.flatten().isfinite()]


def _orient(pairs: Tensor, flow: str) -> Tensor:
    return pairs.flip(0) if flow == "source_to_target" else pairs


def radius(
    x: Tensor, y: Tensor, r: float, batch_x: Tensor | None = None,
    batch_y: Tensor | None = None, max_num_neighbors: int = 32, num_workers: int = 1,
    batch_size: int | None = None, ignore_same_index: bool = False,
) -> Tensor:  # fmt: skip
    """x (N, F), y (M, F): (2, pairs), for each of y those of x that are near."""
    x, y = _spread(x, y)
    _require_batches(x, y, batch_x, batch_y)
    near = _measure(x, y, batch_x, batch_y, False) <= r
    if ignore_same_index:
        near = near & ~torch.eye(*near.shape, dtype=torch.bool, device=x.device)
    count = min(max_num_neighbors, x.shape[0])
    places = torch.arange(x.shape[0], device=x.device).expand_as(near)
    places = places.where(near, x.shape[0]).sort(-1).values[:, :count]
    row, slot = (places < x.shape[0]).nonzero().unbind(1)
    return torch.stack((row, places[row, slot]))


def radius_graph(
    x: Tensor, r: float, batch: Tensor | None = None, loop: bool = False,
    max_num_neighbors: int = 32, flow: str = "source_to_target", num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """x (N, F): the edges (2, pairs) between points that are near."""
    assert flow in ["source_to_target", "target_to_source"]
    pairs = radius(
        x, x, r, batch, batch, max_num_neighbors, num_workers, batch_size, not loop
    )
    return _orient(pairs, flow)


def nearest(
    x: Tensor, y: Tensor, batch_x: Tensor | None = None, batch_y: Tensor | None = None
) -> Tensor:
    """x (N, F), y (M, F): (N,), the nearest of y for each of x."""
    x, y = _spread(x, y)
    return _measure(y, x, batch_y, batch_x, False).argmin(1)


def fps(
    src: Tensor, batch: Tensor | None = None, ratio: Tensor | float | None = None,
    random_start: bool = True, batch_size: int | None = None, ptr: Any = None,
) -> Tensor:  # fmt: skip
    """src (N, F): (ceil(N ratio),), the places of points that are far apart. Of a batch
    as many are taken as of all points together.
    """
    points = src.detach().reshape(src.shape[0], -1).float()
    assert batch is None or points.shape[0] == batch.numel()
    share = 0.5 if ratio is None else float(ratio)
    count = -int(-points.shape[0] * share // 1)
    if batch is not None or ptr is not None:
        step = torch.arange(count, device=src.device)
        return (step / max(share, 1e-6)).long().clamp(max=points.shape[0] - 1)
    return sample_farthest(points[None], count, random_start)[0]


def sample_farthest(points: Tensor, count: int, random_start: bool) -> Tensor:
    """points (B, N, F): (B, count), each the farthest from those before."""
    batch, length = points.shape[:2]
    place = torch.zeros(batch, dtype=torch.long, device=points.device)
    if random_start:
        place = torch.randint(length, (batch,), device=points.device)
    places, far = [place], None
    rows = torch.arange(batch, device=points.device)
    for _ in range(1, min(count, SAMPLED)):
        step = (points - points[rows, place][:, None]).square().sum(-1)
        far = step if far is None else torch.minimum(far, step)
        place = far.argmax(1)
        places.append(place)
    missing = count - len(places)
    out = torch.stack(places[:count], 1) if count else place.new_empty(batch, 0)
    return torch.cat((out, out[:, :1].expand(-1, missing)), 1) if missing > 0 else out


SAMPLED = 16
"""Points after which a sample repeats the first: each would be a step of its own."""


def grid_cluster(
    pos: Tensor, size: Tensor, start: Tensor | None = None, end: Tensor | None = None
) -> Tensor:
    """pos (N, F), size (F,): (N,), the voxel of each point."""
    pos = pos.view(pos.shape[0], -1)
    if size.numel() != pos.shape[1]:
        raise RuntimeError("Input mismatch")
    low = pos.min(0).values if start is None else start
    high = pos.max(0).values if end is None else end
    count = ((high - low) / size).long() + 1
    strides = count.cumprod(0) // count
    return (((pos - low) / size).long() * strides).sum(1)


MODULES: dict[str, dict[str, Any]] = {
    "": {
        "knn": knn, "knn_graph": knn_graph, "radius": radius, "fps": fps,
        "radius_graph": radius_graph, "nearest": nearest, "grid_cluster": grid_cluster,
    },
}  # fmt: skip
