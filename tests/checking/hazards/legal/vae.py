import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(12, 8)
        self.d = nn.Linear(4, 12)

    def forward(self, x):
        m, lv = self.e(x.view(x.size(0), -1)).chunk(2, -1)
        z = m + torch.randn_like(m) * (lv / 2).exp()
        r = self.d(z)
        kl = -0.5 * (1 + lv - m.pow(2) - lv.exp()).sum(1)
        rec = F.mse_loss(r, x.flatten(1), reduction="none").sum(1)
        return (kl + rec).mean()


def example_inputs():
    return (torch.randn(5, 3, 4),)
