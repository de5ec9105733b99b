"""causal_conv1d: a depthwise convolution of (batch, channels, length) over the past."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

SOURCE = "signatures of https://github.com/Dao-AILab/causal-conv1d, 1.5"
VERSION = "1.5.0"


def _require_weight(x: Tensor, weight: Tensor, activation: str | None) -> None:
    """Refuse what csrc/causal_conv1d.cpp refuses."""
    if activation not in (None, "silu", "swish"):
        raise NotImplementedError("activation must be None, silu, or swish")
    channels, width = weight.shape
    if x.shape[1] != channels:
        raise RuntimeError(f"x must have shape (batch, {channels}, seqlen)")
    if not 2 <= width <= 4:
        raise RuntimeError("causal_conv1d only supports width between 2 and 4")


def causal_conv1d_fn(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, seq_idx: Any = None,
    initial_states: Any = None, return_final_states: bool = False,
    final_states_out: Any = None, activation: str | None = None,
) -> Any:  # fmt: skip
    """x (B, D, L), weight (D, W), bias (D,): (B, D, L); and states (B, D, W - 1)."""
    if x.dim() != 3:
        raise RuntimeError("x must have shape (batch, dim, seqlen)")
    _require_weight(x, weight, activation)
    channels, width = weight.shape
    if initial_states is None:
        padded = F.pad(x, (width - 1, 0))
    else:
        padded = torch.cat((initial_states.to(x.dtype), x), -1)
    out = F.conv1d(
        padded.to(weight.dtype), weight.unsqueeze(1), bias, groups=channels
    ).to(x.dtype)
    out = F.silu(out) if activation else out
    if not return_final_states:
        return out
    states = padded[..., 1 - width :]
    if final_states_out is not None:
        states = final_states_out.copy_(states)
    return out, states


def causal_conv1d_update(
    x: Tensor, conv_state: Tensor, weight: Tensor, bias: Tensor | None = None,
    activation: str | None = None, cache_seqlens: Tensor | None = None,
    conv_state_indices: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """x (B, D) or (B, D, L), conv_state (B, D, S) with S >= W - 1, which is moved on in
    place: as x.
    """
    _require_weight(x, weight, activation)
    channels, width = weight.shape
    step = x.unsqueeze(-1) if x.dim() == 2 else x
    length, room = step.shape[-1], conv_state.shape[-1]
    if room < width - 1:
        raise RuntimeError("conv_state_len must be >= width - 1")
    rows = slice(None) if conv_state_indices is None else conv_state_indices.long()
    state = conv_state[rows]
    if state.shape[:2] != step.shape[:2]:
        raise RuntimeError(f"conv_state must have shape (batch, {channels}, state_len)")
    with torch.no_grad():
        if cache_seqlens is None:
            whole = torch.cat((state, step), -1)
            conv_state[rows] = whole[..., -room:]
        else:
            places = torch.arange(1 - width, length, device=x.device)
            places = (places + cache_seqlens.long()[:, None]) % room
            places = places[:, None].expand(-1, channels, -1)
            past = state.gather(2, places[..., : width - 1])
            whole = torch.cat((past, step), -1)
            moved = state.scatter(2, places[..., width - 1 :], step.to(state.dtype))
            conv_state[rows] = moved
    out = F.conv1d(whole.to(weight.dtype), weight.unsqueeze(1), bias, groups=channels)
    out = out[..., -length:].to(x.dtype)
    out = out.squeeze(-1) if x.dim() == 2 else out
    return F.silu(out) if activation else out


_FUNCTIONS = {
    "causal_conv1d_fn": causal_conv1d_fn, "causal_conv1d_update": causal_conv1d_update,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": _FUNCTIONS, "causal_conv1d_interface": _FUNCTIONS,
}  # fmt: skip
