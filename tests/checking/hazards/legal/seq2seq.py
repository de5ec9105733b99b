import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 8)
        self.enc = nn.GRU(8, 8)
        self.dec = nn.GRUCell(8, 8)
        self.a = nn.Linear(16, 1)
        self.o = nn.Linear(16, 20)

    def forward(self, src, tgt):
        enc, h = self.enc(self.e(src))
        h = h[0]
        outs = []
        for t in range(tgt.size(0)):
            h = self.dec(self.e(tgt[t]), h)
            rep = h.unsqueeze(0).expand(enc.size(0), -1, -1)
            w = self.a(torch.cat([rep, enc], -1)).softmax(0)
            ctx = (w * enc).sum(0)
            outs.append(self.o(torch.cat([h, ctx], 1)))
        y = torch.stack(outs)
        return F.cross_entropy(y.view(-1, 20), tgt.reshape(-1)), y.argmax(-1)


def example_inputs():
    return (
        torch.randint(0, 20, (7, 4)),
        torch.randint(0, 20, (5, 4)),
    )
