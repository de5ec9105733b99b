import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(6, 4)
        self.c = nn.Parameter(torch.randn(10, 4))

    def forward(self, x, y):
        z = F.normalize(self.f(x))
        cos = F.linear(z, F.normalize(self.c))
        hot = F.one_hot(y, 10).float()
        d = (z - self.c[y]).pow(2).sum(1)
        m = (
            z.pow(2).sum(1, keepdim=True).expand(x.size(0), 10)
            + self.c.pow(2).sum(1, keepdim=True).expand(10, x.size(0)).t()
        )
        return (hot * cos).sum(), d.mean(), m


def example_inputs():
    return (
        torch.randn(9, 6),
        torch.randint(0, 10, (9,)),
    )
