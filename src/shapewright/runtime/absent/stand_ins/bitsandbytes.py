"""bitsandbytes: optimizers with states of 8 bits, and layers of 8 and 4 bits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from shapewright.runtime.absent.stand_ins._optimizers import Adam as _Adam
from shapewright.runtime.absent.stand_ins._optimizers import Lion as _Lion
from shapewright.runtime.absent.stand_ins._optimizers import Optimizer as _Optimizer

SOURCE = "signatures of https://huggingface.co/docs/bitsandbytes, 0.48"
VERSION = "0.48.0"
Betas = tuple[float, float]

_UNPACKED = (
    "weights of `{}` are counted in the dtype that they have before they move to the "
    "GPU, where they take {} bits each"
)


class Adam(_Adam):
    """Adam; its states have 32 or 8 bits."""

    decoupled = False

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False,
        optim_bits: int = 32, args: Any = None, min_8bit_size: int = 4096,
        is_paged: bool = False,
    ) -> None:  # fmt: skip
        _require_rates(lr, betas, eps)
        if optim_bits not in (8, 32):
            raise NotImplementedError(
                f"Amount of optimizer bits not supported: {optim_bits}"
            )
        self.least_8bit = min_8bit_size if optim_bits == 8 else None
        super().__init__(params, lr, betas, eps, weight_decay, decoupled=self.decoupled)


def _require_rates(lr: float, betas: Betas, eps: float) -> None:
    """Refuse rates, as `Optimizer2State` of bitsandbytes/optim/optimizer.py does."""
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for place, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")


class Adam8bit(Adam):
    """Adam; its states have 8 bits."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False,
        optim_bits: int = 32, args: Any = None, min_8bit_size: int = 4096,
        is_paged: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise ValueError("Adam8bit does not support amsgrad=True")
        if optim_bits != 32:
            raise ValueError(
                "Adam8bit only supports optim_bits=32 (default value for compatibility)"
            )
        super().__init__(
            params, lr, betas, eps, weight_decay, optim_bits=8,
            min_8bit_size=min_8bit_size,
        )  # fmt: skip


class AdamW(Adam):
    """AdamW; its states have 32 or 8 bits."""

    decoupled = True

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False,
        optim_bits: int = 32, args: Any = None, min_8bit_size: int = 4096,
        is_paged: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, optim_bits, args,
            min_8bit_size,
        )  # fmt: skip


class AdamW8bit(AdamW):
    """AdamW; its states have 8 bits."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False,
        optim_bits: int = 32, args: Any = None, min_8bit_size: int = 4096,
        is_paged: bool = False,
    ) -> None:  # fmt: skip
        if amsgrad:
            raise ValueError("AdamW8bit does not support amsgrad=True")
        if optim_bits != 32:
            raise ValueError(
                "AdamW8bit only supports optim_bits=32 (default value for "
                "compatibility)"
            )
        super().__init__(
            params, lr, betas, eps, weight_decay, optim_bits=8,
            min_8bit_size=min_8bit_size,
        )  # fmt: skip


class Lion(_Lion):
    """Lion; its state has 32 or 8 bits."""

    def __init__(
        self, params: Any, lr: float = 1e-4, betas: Betas = (0.9, 0.99),
        weight_decay: float = 0, optim_bits: int = 32, args: Any = None,
        min_8bit_size: int = 4096, is_paged: bool = False,
    ) -> None:  # fmt: skip
        _require_rates(lr, betas, 0.0)
        self.least_8bit = min_8bit_size if optim_bits == 8 else None
        super().__init__(params, lr, betas, weight_decay)


class Lion8bit(Lion):
    """Lion; its state has 8 bits."""

    def __init__(
        self, params: Any, lr: float = 1e-4, betas: Betas = (0.9, 0.99),
        weight_decay: float = 0, args: Any = None, min_8bit_size: int = 4096,
        is_paged: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, weight_decay, 8, args, min_8bit_size)


class SGD8bit(_Optimizer):
    """SGD; its state has 8 bits."""

    def __init__(
        self, params: Any, lr: float, momentum: float = 0, dampening: float = 0,
        weight_decay: float = 0, nesterov: bool = False, args: Any = None,
        min_8bit_size: int = 4096,
    ) -> None:  # fmt: skip
        if momentum == 0:
            raise NotImplementedError("SGD without momentum is not supported!")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "weight_decay": weight_decay,
        })  # fmt: skip
        self.least_8bit = min_8bit_size

    def update(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Update one parameter."""
        is_first = not self.state[parameter]
        (first,) = self.keep(parameter, "momentum_buffer")
        assert parameter.grad is not None
        slope = parameter.grad.float() + group["weight_decay"] * parameter.float()
        first.mul_(0.0 if is_first else group["momentum"]).add_(slope)
        parameter.sub_((group["lr"] * first).to(parameter.dtype))
        self.write(parameter, "momentum_buffer", first)


def _make_paged(kind: type) -> type:
    """Return an optimizer whose states of 100,000 elements or more are paged."""
    name = f"Paged{kind.__name__}"
    note = (
        f"the states of `{name}` are counted on the GPU; they are paged, so that they "
        "move to the host where the GPU is full"
    )
    return type(name, (kind,), {"memory_note": note, "__module__": kind.__module__})


class Linear8bitLt(nn.Linear):
    """`nn.Linear`; its weight has 8 bits on the GPU."""

    memory_note = _UNPACKED.format("Linear8bitLt", "8")

    def __init__(
        self, input_features: int, output_features: int, bias: bool = True,
        has_fp16_weights: bool = True, threshold: float = 0.0, index: Any = None,
        device: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_features, output_features, bias, device)


class Linear4bit(nn.Linear):
    """`nn.Linear`; its weight has 4 bits on the GPU, and its output the dtype of its
    input.
    """

    memory_note = _UNPACKED.format("Linear4bit", "4")

    def __init__(
        self, input_features: int, output_features: int, bias: bool = True,
        compute_dtype: Any = None, compress_statistics: bool = True,
        quant_type: str = "fp4", quant_storage: torch.dtype = torch.uint8,
        device: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_features, output_features, bias, device)
        self.compute_dtype = compute_dtype

    def forward(self, x: Tensor) -> Tensor:
        dtype = self.compute_dtype or x.dtype
        bias = None if self.bias is None else self.bias.to(dtype)
        out = nn.functional.linear(x.to(dtype), self.weight.to(dtype), bias)
        return out.to(x.dtype)


class LinearNF4(Linear4bit):
    """`Linear4bit` of normal floats."""

    def __init__(
        self, input_features: int, output_features: int, bias: bool = True,
        compute_dtype: Any = None, compress_statistics: bool = True,
        quant_storage: torch.dtype = torch.uint8, device: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            input_features, output_features, bias, compute_dtype, compress_statistics,
            "nf4", quant_storage, device,
        )  # fmt: skip


class StableEmbedding(nn.Embedding):
    """`nn.Embedding`, followed by a norm over its width."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, sparse: bool = False,
        _weight: Tensor | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type,
            scale_grad_by_freq, sparse, _weight, device=device, dtype=dtype,
        )  # fmt: skip
        self.norm = nn.LayerNorm(embedding_dim, device=device)

    def forward(self, input: Tensor) -> Any:
        out = super().forward(input)
        return self.norm(out.to(torch.get_default_dtype())).to(self.weight.dtype)


_OPTIM: dict[str, Any] = {
    "Adam": Adam, "Adam8bit": Adam8bit, "Adam32bit": Adam, "AdamW": AdamW,
    "AdamW8bit": AdamW8bit, "AdamW32bit": AdamW, "Lion": Lion, "Lion8bit": Lion8bit,
    "SGD8bit": SGD8bit,
}  # fmt: skip
_OPTIM |= {f"Paged{n}": _make_paged(k) for n, k in _OPTIM.items() if n != "SGD8bit"}
_NN = {"Linear8bitLt": Linear8bitLt, "Linear4bit": Linear4bit, "LinearNF4": LinearNF4,
       "LinearFP4": LinearNF4, "StableEmbedding": StableEmbedding}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": {}, "optim": _OPTIM, "nn": _NN, "nn.modules": _NN,
}  # fmt: skip
