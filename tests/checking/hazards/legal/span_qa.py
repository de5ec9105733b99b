import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(30, 8)
        self.o = nn.Linear(8, 2)

    def forward(self, x, s, e):
        logits = self.o(self.e(x))
        a, b = logits.split(1, dim=-1)
        a, b = a.squeeze(-1), b.squeeze(-1)
        sc = a.unsqueeze(2) + b.unsqueeze(1)
        sc = sc.masked_fill(torch.ones(9, 9, device=x.device).tril(-1).bool(), -1e9)
        best = sc.view(x.size(0), -1).argmax(-1)
        return F.cross_entropy(a, s) + F.cross_entropy(b, e), best // 9, best % 9


def example_inputs():
    return (
        torch.randint(0, 30, (4, 9)),
        torch.randint(0, 9, (4,)),
        torch.randint(0, 9, (4,)),
    )
