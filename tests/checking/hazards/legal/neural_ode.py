import itertools

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 3)

    def forward(self, x, ts):
        out = [x]
        for a, b in itertools.pairwise(ts):
            x = x + (b - a) * self.f(x)
            out.append(x)
        return torch.stack(out), torch.stack(out, 1)[:, -1]


def example_inputs():
    return (
        torch.randn(4, 3),
        torch.linspace(0, 1, 6),
    )
