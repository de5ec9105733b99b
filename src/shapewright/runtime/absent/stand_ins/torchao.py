"""torchao: optimizers with small states, and layers that become float8 or int8.

A layer that is converted keeps its shapes; its weight keeps its dtype here.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._optimizers import Adam as _Adam

SOURCE = "signatures of https://docs.pytorch.org/ao/stable/api_reference.html, 0.14"
VERSION = "0.14.0"
Betas = tuple[float, float]


class Adam8bit(_Adam):
    """Adam; its states have 8 bits."""

    decoupled, least_8bit = False, 4096
    memory_note = (
        "the step of an optimizer of torchao is compiled: what it allocates besides "
        "its states is not counted"
    )

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
        block_size: int = 256, bf16_stochastic_round: bool = False,
    ) -> None:  # fmt: skip
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for place, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        super().__init__(params, lr, betas, eps, weight_decay, decoupled=self.decoupled)
        self.block_size = block_size

    def has_small_states(self, parameter: Tensor) -> bool:
        """Return whether the states of a parameter have 8 bits: all blocks are full."""
        is_whole = parameter.numel() % self.block_size == 0
        return is_whole and super().has_small_states(parameter)


class AdamW8bit(Adam8bit):
    """AdamW; its states have 8 bits."""

    decoupled = True

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
        block_size: int = 256, bf16_stochastic_round: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, block_size=block_size
        )


class _Config:
    """How weights are converted."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)


class Int8WeightOnlyConfig(_Config):
    """Weights of 8 bits."""


class Int4WeightOnlyConfig(_Config):
    """Weights of 4 bits."""


class Int8DynamicActivationInt8WeightConfig(_Config):
    """Weights and inputs of 8 bits."""


class Float8WeightOnlyConfig(_Config):
    """Weights of float8."""


class Float8DynamicActivationFloat8WeightConfig(_Config):
    """Weights and inputs of float8."""


def _is_linear(module: nn.Module, fqn: str) -> bool:
    return isinstance(module, nn.Linear)


def quantize_(
    model: nn.Module, config: Any, filter_fn: Any = _is_linear, device: Any = None
) -> None:
    """Convert the weights of linear layers in place."""
    if not isinstance(config, _Config):
        raise AssertionError("expected a config of torchao.quantization")
    for name, module in model.named_modules():
        if (filter_fn or _is_linear)(module, name) and isinstance(module, nn.Linear):
            module.weight.requires_grad_(False)
            module.__dict__["memory_note"] = (
                "weights that `quantize_` converts are counted in the dtype that they "
                "had before"
            )
    if device is not None:
        model.to(device)


def convert_to_float8_training(
    module: nn.Module, *, module_filter_fn: Any = None, config: Any = None
) -> nn.Module:
    """Let products of linear layers be float8: their sizes must be multiples of 16."""
    for name, layer in module.named_modules():
        wanted = module_filter_fn is None or module_filter_fn(layer, name)
        if isinstance(layer, nn.Linear) and wanted:
            layer.register_forward_pre_hook(_require_multiples)
    return module


def _require_multiples(layer: Any, args: tuple[Any, ...]) -> None:
    """Refuse sizes that `torch._scaled_mm` refuses."""
    for size in layer.weight.shape:
        if size % 16 and layer.weight.device.type != "cpu":
            raise RuntimeError(
                "Expected both dimensions of mat2 to be divisible by 16 but got "
                f"{tuple(layer.weight.shape)}"
            )


_CONFIGS = {
    kind.__name__: kind
    for kind in (
        Int8WeightOnlyConfig, Int4WeightOnlyConfig, Float8WeightOnlyConfig,
        Int8DynamicActivationInt8WeightConfig,
        Float8DynamicActivationFloat8WeightConfig,
    )
}  # fmt: skip
_OPTIM = {"Adam8bit": Adam8bit, "AdamW8bit": AdamW8bit}
MODULES: dict[str, dict[str, Any]] = {
    "": {"quantize_": quantize_},
    "quantization": {"quantize_": quantize_, **_CONFIGS},
    "quantization.quant_api": {"quantize_": quantize_, **_CONFIGS},
    "float8": {"convert_to_float8_training": convert_to_float8_training},
    "optim": _OPTIM,
}  # fmt: skip
