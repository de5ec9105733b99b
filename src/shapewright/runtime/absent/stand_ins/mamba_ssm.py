"""mamba_ssm: selective state spaces on (batch, length, width)."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._layers import RMSNorm as _RMSNorm
from shapewright.runtime.absent.stand_ins.causal_conv1d import causal_conv1d_fn

SOURCE = "signatures of https://github.com/state-spaces/mamba, 2.2"
VERSION = "2.2.0"
SHORT = 8
"""Lengths up to which states are computed step by step; the kernel, which is one call,
holds no state for each step.
"""


def selective_scan_fn(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = None,
    z: Tensor | None = None, delta_bias: Tensor | None = None,
    delta_softplus: bool = False, return_last_state: bool = False,
) -> Any:  # fmt: skip
    """u and delta (batch, D, L), A (D, N), B and C (D, N), (batch, N, L) or
    (batch, G, N, L): as u; and the last state (batch, D, N).
    """
    _batch, width, length = u.shape
    if delta.shape != u.shape:
        raise RuntimeError(f"delta must have shape {tuple(u.shape)}")
    if A.shape[0] != width:
        raise RuntimeError(f"A must have shape ({width}, dstate)")
    if A.shape[1] > 256:
        raise RuntimeError("selective_scan only supports state dimension <= 256")
    x, step = u.float(), delta.float()
    step = step if delta_bias is None else step + delta_bias.float()[:, None]
    step = F.softplus(step) if delta_softplus else step
    B, C = (_spread_states(part.float(), u) for part in (B, C))
    if B.shape[2] != A.shape[1] or C.shape[2] != A.shape[1]:
        raise RuntimeError(f"B and C must have {A.shape[1]} states")
    if length <= SHORT:
        out, last = _scan(x, step, A.float(), B, C)
    else:
        weights = (B * C).sum(2)
        out = x * step * weights + A.float().sum(1)[:, None] * step
        last = (x * step)[..., -1:] + A.float()
    out = out if D is None else out + x * D.float()[:, None]
    out = out if z is None else out * F.silu(z.float())
    out = out.to(u.dtype)
    return (out, last) if return_last_state else out


def _spread_states(part: Tensor, u: Tensor) -> Tensor:
    """Return B or C as (batch or 1, D or 1, N, L or 1)."""
    if part.dim() == 2:
        return part[None, ..., None]
    if part.dim() == 3:
        return part[:, None]
    return part.repeat_interleave(u.shape[1] // part.shape[1], 1)


def _scan(
    x: Tensor, step: Tensor, A: Tensor, B: Tensor, C: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the outputs (batch, D, L) and the last state (batch, D, N)."""
    batch, width, length = x.shape
    B, C = (part.expand(batch, width, -1, length) for part in (B, C))
    state, outs = x.new_zeros(batch, width, A.shape[1]), []
    for place in range(length):
        decay = (step[..., place, None] * A).exp()
        entering = step[..., place, None] * x[..., place, None] * B[..., place]
        state = decay * state + entering
        outs.append((state * C[..., place]).sum(-1))
    return torch.stack(outs, -1), state


def mamba_chunk_scan_combined(
    x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int,
    D: Tensor | None = None, z: Tensor | None = None, dt_bias: Tensor | None = None,
    initial_states: Tensor | None = None, seq_idx: Any = None, cu_seqlens: Any = None,
    dt_softplus: bool = False, dt_limit: tuple[float, float] = (0.0, float("inf")),
    return_final_states: bool = False, return_varlen_states: bool = False,
    state_dtype: Any = None,
) -> Any:  # fmt: skip
    """x (batch, L, H, P), dt (batch, L, H), A (H,), B and C (batch, L, G, N): as x; and
    the last states (batch, H, P, N).
    """
    batch, length, heads, width = x.shape
    if dt.shape != (batch, length, heads) or A.shape != (heads,):
        raise AssertionError(f"dt must be {(batch, length, heads)}, A {(heads,)}")
    if B.shape != C.shape or B.shape[:2] != (batch, length) or heads % B.shape[2]:
        raise AssertionError("B and C must have shape (batch, seqlen, ngroups, dstate)")
    step = dt.float() if dt_bias is None else dt.float() + dt_bias.float()
    step = F.softplus(step) if dt_softplus else step
    step = step.clamp(*dt_limit)

    def merge(part: Tensor) -> Tensor:
        return part.movedim(1, -1).flatten(1, 2)

    wide = merge(step[..., None].expand(-1, -1, -1, width))
    rates = A.float().repeat_interleave(width)[:, None].expand(-1, B.shape[-1])
    skip = None
    if D is not None:
        skip = D.flatten() if D.dim() == 2 else D.repeat_interleave(width)
    out, last = selective_scan_fn(
        merge(x), wide, rates, B.permute(0, 2, 3, 1), C.permute(0, 2, 3, 1), skip,
        None if z is None else merge(z), None, False, True,
    )  # fmt: skip
    out = out.unflatten(1, (heads, width)).movedim(-1, 1)
    if not return_final_states:
        return out
    states = last.unflatten(1, (heads, width))
    return out, states if state_dtype is None else states.to(state_dtype)


def selective_state_update(
    state: Tensor, x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor,
    D: Tensor | None = None, z: Tensor | None = None, dt_bias: Tensor | None = None,
    dt_softplus: bool = False, state_batch_indices: Any = None,
) -> Tensor:  # fmt: skip
    """state (batch, D, N) or (batch, H, P, N), which is moved on in place, x without N,
    B and C (batch, N) or (batch, G, N): as x.
    """
    if x.shape[1:] != state.shape[1:-1]:
        raise AssertionError(f"x must have shape {tuple(state.shape[:-1])}")
    step = dt if dt_bias is None else dt + dt_bias
    step = F.softplus(step) if dt_softplus else step
    if state.dim() == 4:
        heads = state.shape[1]
        B, C = (
            part.repeat_interleave(heads // part.shape[1], 1)[:, :, None]
            for part in (B, C)
        )
    else:
        B, C = B[:, None], C[:, None]
    with torch.no_grad():
        entering = step[..., None] * B * x[..., None]
        moved = state * (step[..., None] * A).exp() + entering
        state.copy_(moved)
    out = (moved.to(C.dtype) * C).sum(-1)
    out = out if D is None else out + x * D
    out = out if z is None else out * F.silu(z)
    return out.to(x.dtype)


class Mamba(nn.Module):
    """(batch, length, d_model): the same shape."""

    def __init__(
        self, d_model: int, d_state: int = 16, d_conv: int = 4, expand: int = 2,
        dt_rank: int | str = "auto", dt_min: float = 0.001, dt_max: float = 0.1,
        dt_init: str = "random", dt_scale: float = 1.0, dt_init_floor: float = 1e-4,
        conv_bias: bool = True, bias: bool = False, use_fast_path: bool = True,
        layer_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if dt_init not in ("constant", "random"):
            raise NotImplementedError
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        inner = self.d_inner = int(expand * d_model)
        self.d_model, self.d_state, self.d_conv = d_model, d_state, d_conv
        self.dt_rank = math.ceil(d_model / 16) if dt_rank == "auto" else int(dt_rank)
        self.in_proj = nn.Linear(d_model, 2 * inner, bias=bias, **where)
        self.conv1d = nn.Conv1d(
            inner, inner, d_conv, groups=inner, padding=d_conv - 1, bias=conv_bias,
            **where,
        )  # fmt: skip
        self.x_proj = nn.Linear(inner, self.dt_rank + 2 * d_state, bias=False, **where)
        self.dt_proj = nn.Linear(self.dt_rank, inner, bias=True, **where)
        rates = torch.arange(1, d_state + 1, dtype=torch.float32, device=device)
        self.A_log = nn.Parameter(rates.log().repeat(inner, 1))
        self.D = nn.Parameter(torch.ones(inner, device=device))
        self.out_proj = nn.Linear(inner, d_model, bias=bias, **where)

    def forward(self, hidden_states: Tensor, inference_params: Any = None) -> Any:
        x, z = self.in_proj(hidden_states).transpose(1, 2).chunk(2, dim=1)
        weight = self.conv1d.weight.squeeze(1)
        x = causal_conv1d_fn(x, weight, self.conv1d.bias, activation="silu")
        parts = self.x_proj(x.transpose(1, 2))
        sizes = [self.dt_rank, self.d_state, self.d_state]
        step, B, C = parts.split(sizes, dim=-1)
        delta = F.linear(step, self.dt_proj.weight).transpose(1, 2)
        A = -torch.exp(self.A_log.float())
        B, C = B.transpose(1, 2), C.transpose(1, 2)
        out = selective_scan_fn(
            x, delta, A, B, C, self.D.float(), z, self.dt_proj.bias.float(), True
        )
        return self.out_proj(out.transpose(1, 2))


class RMSNorm(_RMSNorm):
    """The last dim, divided by its root mean square; with `prenorm` also what is
    normed, the sum of x and `residual`.
    """

    def __init__(
        self, hidden_size: int, eps: float = 1e-5, dropout_p: float = 0.0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(hidden_size, eps, device, dtype)
        self.drop = nn.Dropout(dropout_p) if dropout_p > 0.0 else None

    def forward(
        self, x: Tensor, residual: Any = None, prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Any:  # fmt: skip
        x = x if self.drop is None else self.drop(x)
        whole = x if residual is None else x + residual
        out = super().forward(whole.to(x.dtype))
        if not prenorm:
            return out
        return out, whole.float() if residual_in_fp32 else whole


class RMSNormGated(nn.Module):
    """x (..., D), z (..., D): the norm of groups of x, gated by z."""

    def __init__(
        self, hidden_size: int, eps: float = 1e-5, group_size: int | None = None,
        norm_before_gate: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.eps, self.group_size = eps, group_size
        self.norm_before_gate = norm_before_gate
        self.weight = nn.Parameter(torch.ones(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)

    def forward(self, x: Tensor, z: Tensor | None = None) -> Tensor:
        dtype, size = x.dtype, self.group_size or x.shape[-1]
        x, gate = x.float(), None if z is None else F.silu(z.float())
        x = x * gate if gate is not None and not self.norm_before_gate else x
        groups = F.rms_norm(x.unflatten(-1, (-1, size)), [size], None, self.eps)
        out = groups.flatten(-2) * self.weight.float()
        out = out * gate if gate is not None and self.norm_before_gate else out
        return out.to(dtype)


class Mamba2(nn.Module):
    """(batch, length, d_model): the same shape."""

    def __init__(
        self, d_model: int, d_state: int = 128, d_conv: int = 4,
        conv_init: float | None = None, expand: int = 2, headdim: int = 64,
        d_ssm: int | None = None, ngroups: int = 1,
        A_init_range: tuple[float, float] = (1, 16), D_has_hdim: bool = False,
        rmsnorm: bool = True, norm_before_gate: bool = False, dt_min: float = 0.001,
        dt_max: float = 0.1, dt_init_floor: float = 1e-4,
        dt_limit: tuple[float, float] = (0.0, float("inf")), bias: bool = False,
        conv_bias: bool = True, chunk_size: int = 256, use_mem_eff_path: bool = True,
        layer_idx: int | None = None, process_group: Any = None,
        sequence_parallel: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        inner = self.d_inner = expand * d_model
        self.d_model, self.d_state, self.headdim = d_model, d_state, headdim
        self.d_ssm = inner if d_ssm is None else d_ssm
        self.ngroups, self.chunk_size, self.dt_limit = ngroups, chunk_size, dt_limit
        assert self.d_ssm % headdim == 0
        self.nheads = self.d_ssm // headdim
        wide = 2 * inner + 2 * ngroups * d_state + self.nheads
        self.in_proj = nn.Linear(d_model, wide, bias=bias, **where)
        channels = self.d_ssm + 2 * ngroups * d_state
        self.conv1d = nn.Conv1d(
            channels, channels, d_conv, bias=conv_bias, groups=channels,
            padding=d_conv - 1, **where,
        )  # fmt: skip
        self.dt_bias = nn.Parameter(torch.zeros(self.nheads, **where))
        self.A_log = nn.Parameter(torch.zeros(self.nheads, **where))
        skips = self.d_ssm if D_has_hdim else self.nheads
        self.D = nn.Parameter(torch.ones(skips, device=device))
        self.rmsnorm = rmsnorm
        if rmsnorm:
            self.norm = RMSNormGated(
                self.d_ssm, 1e-5, self.d_ssm // ngroups, norm_before_gate, **where
            )
        self.out_proj = nn.Linear(inner, d_model, bias=bias, **where)

    def forward(
        self, u: Tensor, seqlen: int | None = None, seq_idx: Any = None,
        cu_seqlens: Any = None, inference_params: Any = None,
    ) -> Any:  # fmt: skip
        flat = seqlen is not None and u.dim() == 2
        u = u.unflatten(0, (-1, seqlen)) if flat else u
        groups = self.ngroups * self.d_state
        rest = self.d_inner - self.d_ssm
        sizes = [rest, rest, self.d_ssm, self.d_ssm + 2 * groups, self.nheads]
        z0, x0, z, xBC, dt = self.in_proj(u).split(sizes, dim=-1)
        xBC = causal_conv1d_fn(
            xBC.transpose(1, 2), self.conv1d.weight.squeeze(1), self.conv1d.bias,
            activation="silu",
        ).transpose(1, 2)  # fmt: skip
        x, B, C = xBC.split([self.d_ssm, groups, groups], dim=-1)
        heads, parts = (self.nheads, self.headdim), (self.ngroups, self.d_state)
        D = self.D.view(heads) if len(self.D) == self.d_ssm else self.D
        gate = None if self.rmsnorm else z.unflatten(-1, heads)
        y = mamba_chunk_scan_combined(
            x.unflatten(-1, heads), dt, -torch.exp(self.A_log.float()),
            B.unflatten(-1, parts), C.unflatten(-1, parts), self.chunk_size, D, gate,
            self.dt_bias, dt_softplus=True, dt_limit=self.dt_limit,
        ).flatten(-2)  # fmt: skip
        y = self.norm(y, z) if self.rmsnorm else y
        y = torch.cat((F.silu(z0) * x0, y), -1) if rest else y
        out = self.out_proj(y)
        return out.flatten(0, 1) if flat else out


MODULES: dict[str, dict[str, Any]] = {
    "": {"Mamba": Mamba, "Mamba2": Mamba2, "selective_scan_fn": selective_scan_fn},
    "modules": {}, "modules.mamba_simple": {"Mamba": Mamba},
    "modules.mamba2": {"Mamba2": Mamba2},
    "ops": {},
    "ops.selective_scan_interface": {"selective_scan_fn": selective_scan_fn},
    "ops.triton": {}, "ops.triton.layer_norm": {"RMSNorm": RMSNorm},
    "ops.triton.layernorm_gated": {"RMSNorm": RMSNormGated},
    "ops.triton.ssd_combined": {"mamba_chunk_scan_combined": mamba_chunk_scan_combined},
    "ops.triton.selective_state_update": {
        "selective_state_update": selective_state_update,
    },
}  # fmt: skip
