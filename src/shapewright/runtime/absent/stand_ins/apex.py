"""apex: fused norms and optimizers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

SOURCE = "signatures of https://nvidia.github.io/apex"
VERSION = "0.1"


class FusedLayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`, in one kernel."""


class FusedRMSNorm(nn.RMSNorm):
    """`nn.RMSNorm`, in one kernel."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine)


class FusedAdam(torch.optim.AdamW):
    """AdamW, in one kernel."""

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        adam_w_mode: bool = True, weight_decay: float = 0.0, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay)


class FusedLAMB(FusedAdam):
    """LAMB: as Adam, with a rate for each layer."""


class FusedSGD(torch.optim.SGD):
    """SGD, in one kernel."""


MODULES: dict[str, dict[str, Any]] = {
    "": {},
    "normalization": {"FusedLayerNorm": FusedLayerNorm, "FusedRMSNorm": FusedRMSNorm},
    "normalization.fused_layer_norm": {
        "FusedLayerNorm": FusedLayerNorm, "FusedRMSNorm": FusedRMSNorm,
        "MixedFusedLayerNorm": FusedLayerNorm, "MixedFusedRMSNorm": FusedRMSNorm,
    },
    "optimizers": {
        "FusedAdam": FusedAdam, "FusedLAMB": FusedLAMB, "FusedSGD": FusedSGD,
    },
}  # fmt: skip
