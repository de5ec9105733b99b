import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 8)

    def forward(self, x):
        h = self.f(x)
        p = h.mean(1, keepdim=True)
        idx = torch.randperm(x.size(1), device=x.device)
        return h - p, h[:, idx].max(1).values, h.sum(1, keepdim=True).squeeze(1)


def example_inputs():
    return (torch.randn(5, 7, 3),)
