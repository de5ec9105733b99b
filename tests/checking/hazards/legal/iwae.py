import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(12, 8)
        self.d = nn.Linear(4, 12)

    def forward(self, x):
        m, lv = self.e(x).chunk(2, -1)
        z = m + torch.randn(5, *m.shape, device=x.device) * (lv / 2).exp()
        r = self.d(z)
        lw = -(r - x).pow(2).sum(-1)
        w = lw.softmax(0).detach()
        return (w * lw).sum(0).mean(), lw.logsumexp(0)


def example_inputs():
    return (torch.randn(7, 12),)
