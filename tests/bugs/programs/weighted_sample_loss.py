from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Batch(NamedTuple):
    x: Tensor
    label: Tensor
    weight: Tensor


class Model(nn.Module):
    """Cross-entropy with importance weights (survey data)."""

    def __init__(self, n_in: int = 18, n_classes: int = 4) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(n_in)
        self.net = nn.Linear(n_in, n_classes)

    def forward(self, x: Tensor, label: Tensor, weight: Tensor) -> Tensor:
        batch = Batch(x, label, weight / weight.sum())
        logits = self.net(self.bn(batch.x))
        nll = F.cross_entropy(logits, batch.label, reduction="none")
        return (nll * batch.weight).sum()


def example_inputs():
    x = torch.randn(14, 18)
    label = torch.randint(0, 4, (14,))
    weight = torch.rand(14, 1) + 0.1
    return x, label, weight
