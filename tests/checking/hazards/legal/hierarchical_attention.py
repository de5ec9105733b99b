import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(30, 8)
        self.w = nn.GRU(8, 4, batch_first=True, bidirectional=True)
        self.s = nn.GRU(8, 4, batch_first=True, bidirectional=True)
        self.a = nn.Linear(8, 1)

    def forward(self, d):
        B, S, T = d.shape
        y, _ = self.w(self.e(d.view(B * S, T)))
        v = (self.a(y.tanh()).softmax(1) * y).sum(1).view(B, S, -1)
        z, _ = self.s(v)
        al = self.a(z.tanh()).squeeze(-1).masked_fill(d.sum(-1) == 0, -1e9).softmax(-1)
        return torch.bmm(al.unsqueeze(1), z).squeeze(1)


def example_inputs():
    return (torch.randint(0, 30, (3, 5, 7)),)
