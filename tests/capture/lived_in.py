"""A model that has been lived in: all that a trace could disturb, in one module."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize


class Doubled(nn.Module):
    """A parametrization."""

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight * 2


class Tied(nn.Module):
    """An embedding whose weight is also the head's."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 6, padding_idx=0)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(tokens))


class LivedIn(nn.Module):
    """Norms with statistics, dropout, ties, hooks, buffers, caches, lazy parts."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.instance = nn.InstanceNorm2d(6, affine=True, track_running_stats=True)
        self.dropout = nn.Dropout(0.3)
        self.tied = Tied()
        self.spectral = parametrizations.spectral_norm(nn.Linear(6, 6))
        self.doubled = nn.Linear(6, 6)
        parametrize.register_parametrization(self.doubled, "weight", Doubled())
        with __import__("warnings").catch_warnings():
            __import__("warnings").simplefilter("ignore")
            self.old = nn.utils.spectral_norm(nn.Linear(6, 6))
            self.weighted = nn.utils.weight_norm(nn.Linear(6, 6))
        self.lazy = nn.LazyLinear(5)
        self.lazy_norm = nn.LazyBatchNorm1d()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cache", torch.zeros(4, 6), persistent=False)
        self.register_buffer("nothing", None)
        self.free = nn.Parameter(torch.randn(6))
        self.plain = torch.randn(6)
        self.hidden: Any = None
        self.history: list[Any] = [torch.ones(2)]
        self.seen: set[Any] = {"start"}
        self.by_name: dict[str, Any] = {"inner": {"deep": [1, 2]}}
        self.ordered: Any = OrderedDict(first=1)
        self.count = 0
        self.calls: list[str] = []
        self.handles: list[Any] = []
        self._live_in()

    def _live_in(self) -> None:
        """A backward pass, hooks of every kind, a frozen weight, an attribute."""
        self.conv.weight.grad = torch.randn_like(self.conv.weight)
        self.conv.bias.requires_grad_(False)
        self.free.note = "the user's"  # type: ignore[attr-defined]
        self.free.register_hook(lambda grad: grad)
        self.norm.register_forward_hook(lambda m, a, out: out)
        self.norm.register_forward_pre_hook(lambda m, a: None)
        self.norm.register_full_backward_hook(lambda m, a, b: None)
        self.register_state_dict_post_hook(lambda m, state, prefix, meta: None)
        self.handles.append(self.dropout.register_forward_hook(self._once))
        with torch.no_grad():
            self.norm.running_mean.normal_()  # type: ignore[union-attr]
        self.norm(torch.randn(2, 6, 4, 4))

    def _once(self, module: nn.Module, args: Any, out: Any) -> None:
        self.calls.append("dropout")
        self.handles[0].remove()

    def forward(self, x: torch.Tensor, tokens: torch.Tensor) -> Any:
        y = F.relu(self.norm(self.conv(x)))
        y = self.dropout(self.instance(y))
        self.hidden = y
        y = y.mean((2, 3))
        y = self.spectral(y) + self.doubled(y) + self.old(y) + self.weighted(y)
        self.steps += 1
        self.cache[: y.shape[0]] = y.detach()[:4]
        self.count += 1
        self.history.append(y)
        self.seen.add(y.shape)
        self.by_name["inner"]["deep"].append(y)
        self.by_name["last"] = y
        self.ordered["second"] = y
        return self.lazy_norm(self.lazy(y * self.free)), self.tied(tokens)


def lived_in() -> tuple[LivedIn, tuple[torch.Tensor, torch.Tensor]]:
    """The model in training, and real inputs for it."""
    return LivedIn().train(), (torch.randn(4, 3, 8, 8), torch.randint(0, 11, (4, 5)))
