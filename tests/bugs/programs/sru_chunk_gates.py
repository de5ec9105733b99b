import torch
import torch.nn as nn


class SRUCell(nn.Module):
    """Simple recurrent unit: one big projection, then elementwise steps."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.weight = nn.Linear(dim, 3 * dim, bias=False)
        self.bias_f = nn.Parameter(torch.zeros(dim))
        self.bias_r = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        z, f, r, skip = self.weight(x).chunk(4, dim=-1)
        f = torch.sigmoid(f + self.bias_f)
        r = torch.sigmoid(r + self.bias_r)
        c = torch.zeros_like(f[:, 0])
        out = []
        for t in range(x.size(1)):
            c = f[:, t] * c + (1 - f[:, t]) * z[:, t]
            out.append(r[:, t] * c.tanh() + (1 - r[:, t]) * skip[:, t])
        return torch.stack(out, dim=1)


class Model(nn.Module):
    def __init__(self, vocab=64, dim=40):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.sru = SRUCell(dim)

    def forward(self, ids):
        return self.sru(self.emb(ids))


def example_inputs():
    return (torch.randint(0, 64, (3, 8)),)
