import torch
from torch import nn


class AffineCoupling(nn.Module):
    def __init__(self, n_features, width=32):
        super().__init__()
        half = n_features // 2
        self.sizes = [half, half]
        self.net = nn.Sequential(
            nn.Linear(half, width),
            nn.ReLU(),
            nn.Linear(width, 2 * (n_features - half)),
        )

    def forward(self, x):
        xa, xb = torch.split(x, self.sizes, dim=1)
        log_s, t = self.net(xa).chunk(2, dim=1)
        log_s = torch.tanh(log_s)
        yb = xb * log_s.exp() + t
        return torch.cat([xa, yb], dim=1), log_s.sum(dim=1)


class Model(nn.Module):
    """A normalising flow on tabular data."""

    def __init__(self, n_features=27, depth=3):
        super().__init__()
        self.steps = nn.ModuleList(AffineCoupling(n_features) for _ in range(depth))
        self.register_buffer("perm", torch.arange(n_features).flip(0))

    def forward(self, x):
        logdet = x.new_zeros(x.size(0))
        for step in self.steps:
            x, ld = step(x)
            x = x[:, self.perm]
            logdet = logdet + ld
        return x, logdet


def example_inputs():
    return (torch.randn(10, 27),)
