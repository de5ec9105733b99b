"""deepspeed: its optimizers; an engine around a model is no part of it."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.runtime.absent.stand_ins._optimizers import Adagrad, Adam, Lamb, Lion

SOURCE = (
    "signatures of https://deepspeed.readthedocs.io/en/latest/optimizers.html, 0.18"
)
VERSION = "0.18.0"
Betas = tuple[float, float]


def _require_cpu(optimizer: Any) -> None:
    """Refuse parameters that are not on the CPU."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                assert parameter.device == torch.device("cpu"), (
                    f"CPUAdam param is on {parameter.device} and must be 'cpu', make "
                    "sure you enabled 'offload_optimizer': 'cpu' in your ZeRO config."
                )


class DeepSpeedCPUAdam(Adam):
    """Adam, or AdamW, on the CPU."""

    def __init__(
        self, model_params: Any, lr: float = 1e-3, bias_correction: bool = True,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False, adamw_mode: bool = True,
        fp32_optimizer_states: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            model_params, lr, betas, eps, weight_decay, decoupled=adamw_mode,
            bias_correction=bias_correction,
        )  # fmt: skip

    def step(self, closure: Any = None) -> Any:
        """Update the parameters, which are on the CPU."""
        _require_cpu(self)
        return super().step(closure)


class FusedAdam(Adam):
    """Adam, or AdamW, in one kernel."""

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, adam_w_mode: bool = True,
        weight_decay: float = 0.0, amsgrad: bool = False, set_grad_none: bool = True,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedAdam does not support the AMSGrad variant.")
        super().__init__(
            params, lr, betas, eps, weight_decay, decoupled=adam_w_mode,
            bias_correction=bias_correction, set_grad_none=set_grad_none,
        )  # fmt: skip


class FusedLamb(Lamb):
    """LAMB, in one kernel."""

    def __init__(
        self, params: Any, lr: float = 1e-3, bias_correction: bool = True,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, eps_inside_sqrt: bool = False,
        weight_decay: float = 0.0, max_grad_norm: float = 0.0, max_coeff: float = 10.0,
        min_coeff: float = 0.01, amsgrad: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise RuntimeError("FusedLamb does not support the AMSGrad variant.")
        super().__init__(
            params, lr, betas, eps, weight_decay, bias_correction=bias_correction,
            limits=(min_coeff, max_coeff),
        )  # fmt: skip


class FusedLion(Lion):
    """Lion, in one kernel."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        weight_decay: float = 0.0, set_grad_none: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, weight_decay)


class DeepSpeedCPULion(Lion):
    """Lion, on the CPU."""

    def __init__(
        self, model_params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        weight_decay: float = 0, fp32_optimizer_states: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(model_params, lr, betas, weight_decay)

    def step(self, closure: Any = None) -> Any:
        """Update the parameters, which are on the CPU."""
        _require_cpu(self)
        return super().step(closure)


class DeepSpeedCPUAdagrad(Adagrad):
    """Adagrad, on the CPU."""

    def __init__(
        self, model_params: Any, lr: float = 1e-2, eps: float = 1e-10,
        weight_decay: float = 0, amsgrad: bool = False,
        fp32_optimizer_states: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(model_params, lr, eps, weight_decay)

    def step(self, closure: Any = None) -> Any:
        """Update the parameters, which are on the CPU."""
        _require_cpu(self)
        return super().step(closure)


_ADAM = {"DeepSpeedCPUAdam": DeepSpeedCPUAdam, "FusedAdam": FusedAdam}
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "ops": {}, "ops.adam": _ADAM, "ops.lamb": {"FusedLamb": FusedLamb},
    "ops.lion": {"FusedLion": FusedLion, "DeepSpeedCPULion": DeepSpeedCPULion},
    "ops.adagrad": {"DeepSpeedCPUAdagrad": DeepSpeedCPUAdagrad},
}  # fmt: skip
