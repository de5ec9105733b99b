"""apex: fused norms and optimizers."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD

from shapewright.runtime.absent.stand_ins._optimizers import Adagrad, Adam, Lamb

SOURCE = "signatures of https://nvidia.github.io/apex, 0.1"
VERSION = "0.1"
Betas = tuple[float, float]


class FusedLayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`, in one kernel."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine)


class FusedRMSNorm(nn.RMSNorm):
    """`nn.RMSNorm`, in one kernel."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine)


def _require_affine(name: str, options: dict[str, Any]) -> None:
    """Refuse a norm of mixed dtypes without weights."""
    if options.pop("elementwise_affine", True) is not True:
        raise RuntimeError(f"{name} does not support `elementwise_affine = False`")
    if options:
        raise TypeError(f"unexpected keyword arguments {sorted(options)}")


class MixedFusedLayerNorm(FusedLayerNorm):
    """`nn.LayerNorm`, whose output has the dtype of its weight."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, *,
        memory_efficient: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        _require_affine("MixedFusedLayerNorm", kwargs)
        super().__init__(normalized_shape, eps, True, memory_efficient)

    def forward(self, input: Tensor) -> Tensor:
        out = F.layer_norm(input.float(), self.normalized_shape, None, None, self.eps)
        assert self.bias is not None
        return (out * self.weight + self.bias).to(self.weight.dtype)


class MixedFusedRMSNorm(FusedRMSNorm):
    """`nn.RMSNorm`, whose output has the dtype of its weight."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, *,
        memory_efficient: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        _require_affine("MixedFusedRMSNorm", kwargs)
        super().__init__(normalized_shape, eps, True, memory_efficient)

    def forward(self, x: Tensor) -> Tensor:
        out = F.rms_norm(x.float(), list(self.normalized_shape), None, self.eps)
        return (out * self.weight).to(self.weight.dtype)


def fused_layer_norm_affine(
    input: Tensor, weight: Tensor, bias: Tensor, normalized_shape: Any,
    eps: float = 1e-6, memory_efficient: bool = False,
) -> Tensor:  # fmt: skip
    """input (..., *normalized_shape): the same shape."""
    return F.layer_norm(input, _list_sizes(normalized_shape), weight, bias, eps)


def fused_layer_norm(
    input: Tensor, normalized_shape: Any, eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:  # fmt: skip
    """input (..., *normalized_shape): the same shape."""
    return F.layer_norm(input, _list_sizes(normalized_shape), None, None, eps)


def fused_rms_norm_affine(
    input: Tensor, weight: Tensor, normalized_shape: Any, eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:  # fmt: skip
    """input (..., *normalized_shape): the same shape."""
    return F.rms_norm(input, _list_sizes(normalized_shape), weight, eps)


def fused_rms_norm(
    input: Tensor, normalized_shape: Any, eps: float = 1e-6,
    memory_efficient: bool = False,
) -> Tensor:  # fmt: skip
    """input (..., *normalized_shape): the same shape."""
    return F.rms_norm(input, _list_sizes(normalized_shape), None, eps)


def _list_sizes(sizes: Any) -> list[int]:
    return [sizes] if isinstance(sizes, int) else list(sizes)


class FusedAdam(Adam):
    """Adam, or AdamW, in one kernel."""

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, adam_w_mode: bool = True,
        weight_decay: float = 0.0, amsgrad: bool = False, set_grad_none: bool = True,
        capturable: bool = False, master_weights: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedAdam does not support the AMSGrad variant.")
        if master_weights and not capturable:
            raise RuntimeError(
                "Master weights is currently only supported with the capturable "
                "version."
            )
        super().__init__(
            params, lr, betas, eps, weight_decay, adam_w_mode, bias_correction,
            set_grad_none,
        )  # fmt: skip

    def step(
        self, closure: Any = None, grads: Any = None, output_params: Any = None,
        scale: Any = None, grad_norms: Any = None, grad_scaler: Any = None,
    ) -> Any:  # fmt: skip
        """Update the parameters."""
        if any(x is not None for x in (grads, output_params, scale, grad_norms)):
            raise RuntimeError(
                "FusedAdam has been updated.  Simply initialize it identically to "
                "torch.optim.Adam, and call step() with no arguments."
            )
        return super().step(closure)


class FusedLAMB(Lamb):
    """LAMB: as Adam, with a rate for each parameter."""

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True,
        betas: Betas = (0.9, 0.999), eps: float = 1e-6, weight_decay: float = 0.01,
        amsgrad: bool = False, adam_w_mode: bool = True, grad_averaging: bool = True,
        set_grad_none: bool = True, max_grad_norm: float = 1.0,
        use_nvlamb: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedLAMB does not support the AMSGrad variant.")
        super().__init__(
            params, lr, betas, eps, weight_decay, adam_w_mode, bias_correction,
            set_grad_none,
        )  # fmt: skip


class FusedSGD(SGD):
    """SGD, in one kernel."""

    def __init__(
        self, params: Any, lr: float, momentum: float = 0, dampening: float = 0,
        weight_decay: float = 0, nesterov: bool = False,
        wd_after_momentum: bool = False, materialize_master_grads: bool = True,
        set_grad_none: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov)


class FusedAdagrad(Adagrad):
    """Adagrad, in one kernel."""

    def __init__(
        self, params: Any, lr: float = 1e-2, eps: float = 1e-10,
        weight_decay: float = 0.0, set_grad_none: bool = True,
        adagrad_w_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, eps, weight_decay)


_NORMS: dict[str, Any] = {
          "FusedLayerNorm": FusedLayerNorm, "FusedRMSNorm": FusedRMSNorm,
          "MixedFusedLayerNorm": MixedFusedLayerNorm,
          "MixedFusedRMSNorm": MixedFusedRMSNorm}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {},
    "normalization": _NORMS,
    "normalization.fused_layer_norm": {
        **_NORMS, "fused_layer_norm_affine": fused_layer_norm_affine,
        "fused_layer_norm": fused_layer_norm, "fused_rms_norm": fused_rms_norm,
        "fused_rms_norm_affine": fused_rms_norm_affine,
    },
    "optimizers": {
        "FusedAdam": FusedAdam, "FusedLAMB": FusedLAMB, "FusedSGD": FusedSGD,
        "FusedAdagrad": FusedAdagrad,
    },
}  # fmt: skip
