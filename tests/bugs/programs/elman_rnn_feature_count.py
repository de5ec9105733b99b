import torch
import torch.nn as nn


class Deltas(nn.Module):
    """Appends first differences over time."""

    def forward(self, x):
        d = x[:, 1:] - x[:, :-1]
        d = torch.cat([torch.zeros_like(x[:, :1]), d], dim=1)
        return torch.cat([x, d], dim=-1)


class Model(nn.Module):
    def __init__(self, n_feat=5, hidden=14, n_out=2):
        super().__init__()
        self.deltas = Deltas()
        self.norm = nn.LayerNorm(2 * n_feat)
        self.rnn = nn.RNN(n_feat, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, n_out)

    def forward(self, x):
        x = self.deltas(x)
        x = self.norm(x)
        h, _ = self.rnn(x)
        return self.out(h)


def example_inputs():
    return (torch.randn(4, 30, 5),)
