"""Optimizers of several packages: one update each, in torch's operators."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Betas = tuple[float, float]
BLOCK = 256
"""Elements of a state of 8 bits that share their largest value."""


class Optimizer(torch.optim.Optimizer):
    """An optimizer whose update of one parameter is a method."""

    set_grad_none = False
    least_8bit: int | None = None
    """From how many elements on states have 8 bits; None for never."""

    is_one_kernel = True
    """The real step allocates its states and no more; what this one makes besides is no
    part of a program's memory."""

    memory_note = ""
    """What is not known of the memory of the real one."""

    def step(self, closure: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Update the parameters that have a gradient; return the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                group["step"] = group.get("step", 0) + 1
                for parameter in group["params"]:
                    if parameter.grad is None:
                        continue
                    if parameter.grad.is_sparse:
                        raise RuntimeError(
                            f"{type(self).__name__} does not support sparse gradients"
                        )
                    self.update(parameter, group)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        super().zero_grad(set_to_none or self.set_grad_none)

    def update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        raise NotImplementedError

    def has_small_states(self, parameter: Tensor) -> bool:
        """Return whether the states of a parameter have 8 bits."""
        return self.least_8bit is not None and parameter.numel() >= self.least_8bit

    def keep(self, parameter: Tensor, *names: str) -> list[Tensor]:
        """Return states of a parameter, of zeros at first, as float32."""
        state = self.state[parameter]
        small = self.has_small_states(parameter)
        dtype = torch.uint8 if small else torch.float32
        for name in names:
            if name not in state:
                state[name] = torch.zeros_like(parameter, dtype=dtype)
                if small:
                    blocks = -(-parameter.numel() // BLOCK)
                    state[f"absmax_{name}"] = parameter.new_zeros(
                        blocks, dtype=torch.float32
                    )
        return [self._widen(state, name) for name in names]

    def _widen(self, state: Any, name: str) -> Any:
        """Return a state as float32."""
        if state[name].dtype != torch.uint8:
            return state[name]
        return (state[name].float() - 128) / 127 * _spread(state, name)

    def write(self, parameter: Tensor, name: str, value: Tensor) -> None:
        """Store a state that `keep` has given, if it has 8 bits."""
        state = self.state[parameter]
        if state[name].dtype != torch.uint8:
            return
        largest = state[f"absmax_{name}"]
        rest = len(largest) * BLOCK - value.numel()
        rows = torch.nn.functional.pad(value.flatten(), (0, rest)).view(-1, BLOCK)
        largest.copy_(rows.abs().amax(1).clamp(min=1e-12))
        state[name].copy_((value / _spread(state, name) * 127 + 128).round())


def _spread(state: Any, name: str) -> Any:
    """Return the largest value of the block of each element."""
    kept = state[name]
    wide = state[f"absmax_{name}"].repeat_interleave(BLOCK)
    return wide[: kept.numel()].view(kept.shape)


class Adam(Optimizer):
    """Adam, or AdamW if `decoupled`; its states are float32."""

    def __init__(
        self, params: Any, lr: float, betas: Betas, eps: float, weight_decay: float,
        decoupled: bool, bias_correction: bool = True, set_grad_none: bool = True,
        amsgrad: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps,
            "weight_decay": weight_decay,
        })  # fmt: skip
        self.decoupled, self.set_grad_none = decoupled, set_grad_none

    def direction(self, parameter: Tensor, group: dict[str, Any]) -> Any:
        """Return the step along which a parameter goes, without the rate."""
        first, second = self.keep(parameter, "exp_avg", "exp_avg_sq")
        assert parameter.grad is not None
        slope, decay = parameter.grad.float(), group["weight_decay"]
        if decay and not self.decoupled:
            slope = slope + decay * parameter.float()
        beta1, beta2 = group["betas"]
        first.mul_(beta1).add_(slope, alpha=1 - beta1)
        second.mul_(beta2).addcmul_(slope, slope, value=1 - beta2)
        self.write(parameter, "exp_avg", first)
        self.write(parameter, "exp_avg_sq", second)
        scales = (1.0, 1.0)
        if group["bias_correction"]:
            scales = (1 - beta1 ** group["step"], 1 - beta2 ** group["step"])
        root = (second / scales[1]).sqrt() + group["eps"]
        direction = first / scales[0] / root
        if decay and self.decoupled:
            direction = direction + decay * parameter.float()
        return direction

    def update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        direction = self.direction(parameter, group)
        parameter.sub_((group["lr"] * direction).to(parameter.dtype))


class Lamb(Adam):
    """LAMB: as AdamW, with a rate for each parameter."""

    def __init__(
        self, params: Any, lr: float, betas: Betas, eps: float, weight_decay: float,
        decoupled: bool = True, bias_correction: bool = True,
        set_grad_none: bool = True, limits: Betas | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, decoupled, bias_correction,
            set_grad_none,
        )  # fmt: skip
        self.limits = limits

    def update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        direction = self.direction(parameter, group)
        trust = parameter.float().norm() / direction.norm().clamp(min=1e-12)
        trust = trust.clamp(*self.limits) if self.limits else trust
        parameter.sub_((group["lr"] * trust * direction).to(parameter.dtype))


class Lion(Optimizer):
    """Lion: steps of one size, with one state."""

    def __init__(
        self, params: Any, lr: float, betas: Betas, weight_decay: float
    ) -> None:
        super().__init__(params, {
            "lr": lr, "betas": betas, "weight_decay": weight_decay,
        })  # fmt: skip

    def update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        (first,) = self.keep(parameter, "exp_avg")
        assert parameter.grad is not None
        slope, (beta1, beta2) = parameter.grad.float(), group["betas"]
        sign = (first * beta1 + slope * (1 - beta1)).sign()
        sign = sign + group["weight_decay"] * parameter.float()
        parameter.sub_((group["lr"] * sign).to(parameter.dtype))
        first.mul_(beta2).add_(slope, alpha=1 - beta2)
        self.write(parameter, "exp_avg", first)


class Adagrad(Optimizer):
    """Adagrad."""

    def __init__(self, params: Any, lr: float, eps: float, weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    def update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        (total,) = self.keep(parameter, "exp_avg_sq")
        assert parameter.grad is not None
        slope = parameter.grad.float() + group["weight_decay"] * parameter.float()
        total.addcmul_(slope, slope)
        step = group["lr"] * slope / (total.sqrt() + group["eps"])
        parameter.sub_(step.to(parameter.dtype))
