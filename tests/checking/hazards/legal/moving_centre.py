import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 8)
        self.register_buffer("c", torch.zeros(1, 8))

    def forward(self, a, b):
        s = self.f(a) / 0.1
        t = ((self.f(b) - self.c) / 0.04).softmax(-1).detach()
        self.c = self.c * 0.9 + t.mean(0, keepdim=True) * 0.1
        return -(t * s.log_softmax(-1)).sum(-1).mean()


def example_inputs():
    return (
        torch.randn(5, 6),
        torch.randn(5, 6),
    )
