import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = nn.Linear(6, 8)

    def forward(self, x, m):
        k = self.k(x)
        w = F.cosine_similarity(k.unsqueeze(1), m, dim=-1).softmax(-1)
        r = torch.bmm(w.unsqueeze(1), m).squeeze(1)
        m = m * (1 - w.unsqueeze(-1)) + w.unsqueeze(-1) * k.unsqueeze(1)
        r2 = (w.unsqueeze(-1) * m).sum(1)
        return r, r2, m


def example_inputs():
    return (
        torch.randn(4, 6),
        torch.randn(4, 10, 8),
    )
