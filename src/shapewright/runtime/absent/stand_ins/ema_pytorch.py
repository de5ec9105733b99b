"""ema_pytorch: a copy of a model whose parameters are averages of its own."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import nn

SOURCE = "signatures of https://github.com/lucidrains/ema-pytorch, 0.7"
VERSION = "0.7.0"


class EMA(nn.Module):
    """A model and its average; calls go to the average."""

    def __init__(
        self, model: nn.Module, ema_model: Any = None,
        beta: float = 0.9999, update_after_step: int = 100, update_every: int = 10,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.beta, self.update_every = beta, update_every
        self.update_after_step = update_after_step
        self.online_model = [model]  # no module of its own, so that it saves once
        average = deepcopy(model) if ema_model is None else ema_model
        self.ema_model = average if isinstance(average, nn.Module) else average()
        self.ema_model.requires_grad_(False)
        self.register_buffer("initted", torch.tensor(False))
        self.register_buffer("step", torch.tensor(0))

    @property
    def model(self) -> nn.Module:
        """Return the model that is trained."""
        return self.online_model[0]

    def update(self) -> None:
        """Move the average towards the model."""
        with torch.no_grad():
            pairs = zip(
                self.ema_model.parameters(), self.model.parameters(), strict=True
            )
            for average, parameter in pairs:
                average.lerp_(parameter.to(average.device), 1 - self.beta)

    def copy_params_from_model_to_ema(self) -> None:
        """Take the model's parameters."""
        self.ema_model.load_state_dict(self.model.state_dict())

    def copy_params_from_ema_to_model(self) -> None:
        """Give the model the averages."""
        self.model.load_state_dict(self.ema_model.state_dict())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the average."""
        return self.ema_model(*args, **kwargs)


MODULES: dict[str, dict[str, Any]] = {"": {"EMA": EMA}}
