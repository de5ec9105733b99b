import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(6, 7, bias=False)

    def forward(self, x):
        q = torch.exp(self.p(F.normalize(x, dim=1)) / 0.05).t()
        q = q / q.sum()
        for _ in range(3):
            q = q / q.sum(1, keepdim=True) / 7
            q = q / q.sum(0, keepdim=True) / x.size(0)
        return (q * x.size(0)).t()


def example_inputs():
    return (torch.randn(9, 6),)
