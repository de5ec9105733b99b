"""Attention with the masks that kernels of several packages share.

A kernel holds no (queries, keys) matrix, and a mask of that size would be memory that
the original never takes: masks are computed up to `SMALL` elements, where somebody may
look at values; beyond, the result has its shape, dtype and gradients.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

SMALL = 2**20
Window = tuple[int | None, int | None]
"""Keys to the left and to the right that a query sees; -1 or None for all."""
EVERYWHERE: Window = (-1, -1)


def attend(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None = None, dropout: float = 0.0,
    softcap: float = 0.0, bias: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """q (B, Tq, H, D), k (B, Tk, Hk, D), v (B, Tk, Hk, Dv), bias (..., Tq, Tk): the
    output (B, Tq, H, Dv).
    """
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    if not softcap:
        out = F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, dropout_p=dropout, scale=scale, enable_gqa=True
        )
        return out.transpose(1, 2).contiguous()
    k, v = (tensor.repeat_interleave(q.shape[1] // k.shape[1], 1) for tensor in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = softcap * torch.tanh(scores / softcap)
    scores = scores if bias is None else scores + bias
    weights = F.dropout(scores.softmax(-1).nan_to_num(), dropout)
    return (weights.to(v.dtype) @ v).transpose(1, 2).contiguous()


def sum_exponentials(
    q: Tensor, k: Tensor, scale: float | None, bias: Tensor | None
) -> Tensor:
    """q (B, Tq, H, D), k (B, Tk, Hk, D): the log of the sum of exponentials, float32,
    (B, H, Tq).
    """
    q, k = q.detach().float().transpose(1, 2), k.detach().float().transpose(1, 2)
    if q.shape[2] * k.shape[2] > SMALL:
        return q.sum(-1)
    scores = q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT
    scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)
    return (scores if bias is None else scores + bias).logsumexp(-1)


def make_bias(
    q: Tensor, rows: Tensor, columns: Tensor, keep: Tensor | None, causal: bool,
    window: Window, slopes: Tensor | None,
) -> Tensor | None:  # fmt: skip
    """Return what is added to scores: minus infinity outside of the window.

    `rows` (..., Tq, 1) are the places of the queries among the keys, `columns`
    (..., 1, Tk) those of the keys; `keep` says further which keys are there.
    """
    left, right = (-1 if size is None else size for size in window)
    right = 0 if causal else right
    if left < 0 and right < 0 and keep is None and slopes is None:
        return None
    if rows.shape[-2] * columns.shape[-1] > SMALL:
        return None
    distance = columns - rows
    seen = torch.ones_like(distance, dtype=torch.bool) if keep is None else keep
    seen = seen & (distance <= right) if right >= 0 else seen
    seen = seen & (distance >= -left) if left >= 0 else seen
    bias = torch.zeros_like(seen, dtype=q.dtype).masked_fill(~seen, float("-inf"))
    if bias.dim() == 3:
        bias = bias.unsqueeze(1)
    if slopes is not None:
        wide = slopes.view(*slopes.shape, 1, 1)
        far = distance.abs() if distance.dim() == 2 else distance.abs().unsqueeze(1)
        bias = bias - (wide * far).to(q.dtype)
    return bias


def number_places(q: Tensor, queries: int, keys: int) -> tuple[Tensor, Tensor]:
    """Return the places of queries and keys, aligned at their ends."""
    rows = torch.arange(queries, device=q.device) + (keys - queries)
    return rows[:, None], torch.arange(keys, device=q.device)[None]


def number_packed(
    q: Tensor, ends_q: Tensor, ends_k: Tensor, queries: int, keys: int,
    from_start: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the places of queries and keys of sequences behind each other, aligned at
    the ends of each (or at the starts), and which pairs are of one sequence.
    """
    rows = torch.arange(queries, device=q.device)
    columns = torch.arange(keys, device=q.device)
    of_row = torch.bucketize(rows, ends_q[1:].long(), right=True)
    of_column = torch.bucketize(columns, ends_k[1:].long(), right=True)
    part = slice(None, -1) if from_start else slice(1, None)
    place = of_row.clamp(max=ends_q.shape[0] - 2)
    aligned = rows - ends_q.long()[part][place] + ends_k.long()[part][place]
    return aligned[:, None], columns[None], of_row[:, None] == of_column[None]
