import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Linear(2, 1)

    def forward(self, x, t):
        u = self.n(torch.cat([x, t], 1))
        g = torch.sin(x) * torch.exp(-t)
        return (u - g).pow(2).mean(), F.mse_loss(u, g)


def example_inputs():
    return (
        torch.randn(9, 1),
        torch.randn(9, 1),
    )
