"""bitsandbytes: optimizers with states of 8 bits, and layers of 8 and 4 bits."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

SOURCE = "signatures of https://huggingface.co/docs/bitsandbytes, 0.48"
VERSION = "0.48.0"


class AdamW8bit(torch.optim.AdamW):
    """AdamW; its states have 8 bits."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay)


class Adam8bit(torch.optim.Adam):
    """Adam; its states have 8 bits."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay)


class Lion8bit(AdamW8bit):
    """Lion; its states have 8 bits."""


class Linear8bitLt(nn.Linear):
    """`nn.Linear`; its weight has 8 bits on the GPU."""

    def __init__(
        self, input_features: int, output_features: int, bias: bool = True,
        has_fp16_weights: bool = True, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(input_features, output_features, bias)


class Linear4bit(nn.Linear):
    """`nn.Linear`; its weight has 4 bits on the GPU."""

    def __init__(
        self, input_features: int, output_features: int, bias: bool = True,
        *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(input_features, output_features, bias)


_OPTIM = {
    "Adam8bit": Adam8bit, "AdamW8bit": AdamW8bit, "PagedAdamW8bit": AdamW8bit,
    "PagedAdam8bit": Adam8bit, "PagedAdamW32bit": AdamW8bit, "Lion8bit": Lion8bit,
    "AdamW": AdamW8bit, "Adam": Adam8bit,
}  # fmt: skip
_NN = {"Linear8bitLt": Linear8bitLt, "Linear4bit": Linear4bit, "LinearNF4": Linear4bit}
MODULES: dict[str, dict[str, Any]] = {"": {}, "optim": _OPTIM, "nn": _NN}
