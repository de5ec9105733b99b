import torch
import torch.nn as nn
import torch.nn.functional as F


class EnsembleLinear(nn.Module):
    def __init__(self, members, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(members, d_in, d_out) / d_in**0.5)
        self.bias = nn.Parameter(torch.zeros(members, 1, d_out))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Model(nn.Module):
    """Probabilistic dynamics model as used in model-based RL."""

    def __init__(self, members=5, d_in=6, d_out=1):
        super().__init__()
        self.members = members
        self.l1 = EnsembleLinear(members, d_in, 24)
        self.l2 = EnsembleLinear(members, 24, 2 * d_out)
        self.min_logvar = nn.Parameter(torch.full((1, d_out), -8.0))
        self.max_logvar = nn.Parameter(torch.full((1, d_out), 2.0))

    def members_out(self, x):
        x = x.unsqueeze(0).repeat(self.members, 1, 1)
        mean, logvar = self.l2(F.silu(self.l1(x))).chunk(2, dim=-1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        return mean, logvar

    def forward(self, x, y):
        mean, logvar = self.members_out(x)
        inv = torch.exp(-logvar)
        nll = ((mean - y) ** 2 * inv + logvar).mean(dim=(1, 2)).sum()
        mu = mean.mean(0)
        total = logvar.exp().mean(0) + mean.var(0)
        return mu, total, nll


def example_inputs():
    return torch.randn(15, 6), torch.randn(15, 1)
