import math

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(256, 8)
        self.c = nn.Conv1d(8, 8, 2, dilation=2)
        self.o = nn.Conv1d(8, 256, 1)

    def forward(self, w):
        mu = 255.0
        x = w / w.abs().amax(-1, keepdim=True)
        q = (
            (
                (torch.sign(x) * torch.log1p(mu * x.abs()) / math.log1p(mu) + 1)
                / 2
                * mu
                + 0.5
            )
            .long()
            .clamp(0, 255)
        )
        h = self.c(self.e(q).transpose(1, 2))
        logits = self.o(h)
        return F.cross_entropy(logits[:, :, :-1], q[:, 3:])


def example_inputs():
    return (torch.randn(2, 30),)
