"""The corners of torch itself: transforms, checkpoints, hooks, parametrisations."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from models import case


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = mlp()

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.body, x, use_reentrant=False)


@case
def checkpointed():
    return Checkpointed(), torch.randn(3, 6)


class Ensemble(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.member = mlp()
        self.stacked = nn.ParameterDict(
            {
                name.replace(".", "_"): nn.Parameter(torch.randn(3, *value.shape))
                for name, value in self.member.named_parameters()
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        names = [name for name, _ in self.member.named_parameters()]
        state = {name: self.stacked[name.replace(".", "_")] for name in names}

        def one(parameters: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(self.member, parameters, (x,))

        return torch.func.vmap(one)(state).mean(0)


@case
def ensemble_by_vmap():
    return Ensemble(), torch.randn(5, 6)


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        return x.sign()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient


class Straight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        return Sign.apply(self.linear(x)) * 0.5


@case
def custom_autograd_function():
    return Straight(), torch.randn(3, 6)


class Automatic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = mlp()
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.body(x)
            z = self.norm(y)
        return y, z


@case
def autocast():
    return Automatic(), torch.randn(3, 6)


class Hyper(nn.Module):
    """A network whose weights another network writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writer = nn.Linear(3, 4 * 6 + 4)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        weight, bias = self.writer(condition).split([24, 4])
        return F.linear(x, weight.view(4, 6), bias)


@case
def hypernetwork():
    return Hyper(), torch.randn(5, 6), torch.randn(3)


@case
def weight_norm():
    return nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), torch.randn(3, 6)


class Hooked(nn.Module):
    """A forward hook that replaces the output, and a state that forward stores."""

    def __init__(self) -> None:
        super().__init__()
        self.body = mlp()
        self.body[0].register_forward_hook(lambda module, given, out: out[:, :8] + 1)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.last = self.body(x)
        return self.last


@case
def hooked_and_stateful():
    return Hooked(), torch.randn(3, 6)


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        y.mul_(2).clamp_(-1, 1)
        y[:, ::2] = 0
        y[0].add_(x[1])
        y.t_().unsqueeze_(0)
        return y.masked_fill_(torch.ones_like(y, dtype=torch.bool).triu(), 0).squeeze(0)


@case
def written_in_place():
    return InPlace().requires_grad_(False), torch.randn(3, 6)


class Capsules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, 10, 4, 5, 3))

    def forward(self, x: Tensor) -> Tensor:
        votes = (self.weight @ x[:, :, None, :, None]).squeeze(-1)
        logits = torch.zeros(*votes.shape[:3], 1)
        for _ in range(3):
            s = (logits.softmax(2) * votes).sum(1, keepdim=True)
            norm = torch.linalg.vector_norm(s, dim=-1, keepdim=True)
            v = s * norm / (1 + norm**2)
            logits = logits + (votes * v).sum(-1, keepdim=True)
        return v.squeeze(1)


@case
def capsules():
    return Capsules(), torch.randn(2, 10, 3)


class Decides(nn.Module):
    """Control flow on values that follow from constants."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
        self.rates = torch.linspace(0, 0.3, 4).tolist()

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
        if not mask.all():
            x = x * mask.unsqueeze(-1)
        for rate, layer in zip(self.rates, self.layers, strict=True):
            if rate < 0.25:
                x = layer(x)
        return x[:, : int(lengths.max().item())]


@case
def decides_by_known_values():
    return Decides(), torch.randn(2, 5, 6), torch.tensor([3, 4])


@case
def transformer_encoder_eval():
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, 0.0, batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, 2, nn.LayerNorm(16)).eval(), torch.randn(
        2, 5, 16
    )
