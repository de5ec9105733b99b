"""causal_conv1d: a depthwise convolution of (batch, channels, length) over the past."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

SOURCE = "signatures of https://github.com/Dao-AILab/causal-conv1d, 1.5"
VERSION = "1.5.0"


def causal_conv1d_fn(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, seq_idx: Any = None,
    initial_states: Any = None, return_final_states: bool = False,
    final_states_out: Any = None, activation: str | None = None,
) -> Any:  # fmt: skip
    """x (B, D, L), weight (D, W), bias (D,): (B, D, L)."""
    if activation not in (None, "silu", "swish"):
        raise NotImplementedError("activation must be None, silu, or swish")
    channels, width = weight.shape
    if x.dim() != 3 or x.shape[1] != channels:
        raise RuntimeError(f"x must have shape (batch, {channels}, seqlen)")
    if not 2 <= width <= 4:
        raise RuntimeError("causal_conv1d only supports width between 2 and 4")
    padded = F.pad(x, (width - 1, 0))
    out = F.conv1d(padded, weight.unsqueeze(1), bias, groups=channels)
    out = F.silu(out) if activation else out
    return (out, padded[..., 1 - width :]) if return_final_states else out


def causal_conv1d_update(
    x: Tensor, conv_state: Tensor, weight: Tensor, bias: Tensor | None = None,
    activation: str | None = None, *args: Any, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """x (B, D) or (B, D, L), conv_state (B, D, W - 1 or more): as x."""
    return F.silu(x) if activation else x * 1


MODULES: dict[str, dict[str, Any]] = {
    "": {"causal_conv1d_fn": causal_conv1d_fn,
         "causal_conv1d_update": causal_conv1d_update},
    "causal_conv1d_interface": {"causal_conv1d_fn": causal_conv1d_fn,
                                "causal_conv1d_update": causal_conv1d_update},
}  # fmt: skip
