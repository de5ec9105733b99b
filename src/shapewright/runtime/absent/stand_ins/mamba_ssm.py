"""mamba_ssm: selective state spaces on (batch, length, width)."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins.causal_conv1d import causal_conv1d_fn

SOURCE = "signatures of https://github.com/state-spaces/mamba, 2.2"
VERSION = "2.2.0"


def selective_scan_fn(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None,
    z: Tensor | None = None, delta_bias: Tensor | None = None,
    delta_softplus: bool = False, return_last_state: bool = False,
) -> Any:  # fmt: skip
    """u and delta (batch, D, L), A (D, N), B and C (batch, N, L) or (D, N): as u."""
    batch, width, _ = u.shape
    if delta.shape != u.shape:
        raise RuntimeError(f"delta must have shape {tuple(u.shape)}")
    if A.shape[0] != width:
        raise RuntimeError(f"A must have shape ({width}, dstate)")
    out = u * delta * (A.sum(1)[:, None] + B.sum() + C.sum())
    if D is not None:
        out = out + u * D[:, None]
    if delta_bias is not None:
        out = out + delta_bias[:, None]
    if z is not None:
        out = out * F.silu(z)
    out = out.to(u.dtype)
    return (out, u.new_zeros(batch, *A.shape)) if return_last_state else out


class Mamba(nn.Module):
    """(batch, length, d_model): the same shape."""

    def __init__(
        self, d_model: int, d_state: int = 16, d_conv: int = 4, expand: int = 2,
        dt_rank: int | str = "auto", *, conv_bias: bool = True, bias: bool = False,
        device: Any = None, dtype: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        inner = self.d_inner = int(expand * d_model)
        self.d_state = d_state
        self.dt_rank = math.ceil(d_model / 16) if dt_rank == "auto" else int(dt_rank)
        self.in_proj = nn.Linear(d_model, 2 * inner, bias=bias, **where)
        self.conv1d = nn.Conv1d(
            inner, inner, d_conv, groups=inner, padding=d_conv - 1, bias=conv_bias,
            **where,
        )  # fmt: skip
        self.x_proj = nn.Linear(inner, self.dt_rank + 2 * d_state, bias=False, **where)
        self.dt_proj = nn.Linear(self.dt_rank, inner, bias=True, **where)
        self.A_log = nn.Parameter(torch.zeros(inner, d_state, device=device))
        self.D = nn.Parameter(torch.ones(inner, device=device))
        self.out_proj = nn.Linear(inner, d_model, bias=bias, **where)

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        x, z = self.in_proj(hidden_states).transpose(1, 2).chunk(2, dim=1)
        weight = self.conv1d.weight.squeeze(1)
        x = causal_conv1d_fn(x, weight, self.conv1d.bias, activation="silu")
        parts = self.x_proj(x.transpose(1, 2))
        sizes = [self.dt_rank, self.d_state, self.d_state]
        step, B, C = parts.split(sizes, dim=-1)
        delta = self.dt_proj(step).transpose(1, 2)
        A = -torch.exp(self.A_log.float())
        B, C = B.transpose(1, 2), C.transpose(1, 2)
        out = selective_scan_fn(x, delta, A, B, C, self.D.float(), z=z)
        return self.out_proj(out.transpose(1, 2))


MODULES: dict[str, dict[str, Any]] = {
    "": {"Mamba": Mamba, "selective_scan_fn": selective_scan_fn},
    "modules": {}, "modules.mamba_simple": {"Mamba": Mamba},
    "ops": {},
    "ops.selective_scan_interface": {"selective_scan_fn": selective_scan_fn},
}  # fmt: skip
