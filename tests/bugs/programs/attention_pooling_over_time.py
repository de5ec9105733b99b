import torch
from torch import nn


class AttnPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1))

    def forward(self, x, mask):
        w = self.score(x)
        w = w.masked_fill(~mask.unsqueeze(-1), torch.finfo(w.dtype).min)
        w = w.softmax(dim=1)
        mean = (w * x).sum(dim=1)
        var = (w * (x - mean.unsqueeze(1)) ** 2).sum(dim=1)
        return torch.cat([mean, (var + 1e-6).sqrt()], dim=-1), w.squeeze(-1)


class Model(nn.Module):
    def __init__(self, n_in=14, dim=24, n_out=5):
        super().__init__()
        self.rnn = nn.GRU(n_in, dim // 2, batch_first=True, bidirectional=True)
        self.pool = AttnPool(dim)
        self.out = nn.Linear(2 * dim, n_out)

    def forward(self, x, lengths):
        h, _ = self.rnn(x)
        mask = torch.arange(x.size(1), device=x.device) < lengths[:, None]
        pooled, weights = self.pool(h, mask)
        return self.out(pooled), weights


def example_inputs():
    return torch.randn(4, 22, 14), torch.tensor([22, 9, 15, 1])
