import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Linear(6, 4)
        self.t = nn.Linear(6, 4)

    def forward(self, x, y):
        s, t = self.s(x), self.t(x).detach()
        kd = (
            F.kl_div(
                F.log_softmax(s / 2, 1), F.softmax(t / 2, 1), reduction="batchmean"
            )
            * 4
        )
        rs = F.normalize(s @ s.t(), dim=1)
        rt = F.normalize(t @ t.t(), dim=1)
        crd = F.log_softmax((s.t() @ t), dim=0).sum()
        return kd + F.cross_entropy(s, y) + (rs - rt).pow(2).mean() + crd


def example_inputs():
    return (
        torch.randn(5, 6),
        torch.randint(0, 4, (5,)),
    )
