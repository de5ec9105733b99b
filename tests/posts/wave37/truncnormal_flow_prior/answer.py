import math

import torch
import torch.nn as nn
from torch.distributions import Normal


class TruncatedGaussian(nn.Module):
    """Normal distribution on an interval, for the bond lengths and angles of a molecule."""

    def __init__(self, mu, sigma, lower, upper, learnable=False):
        super().__init__()
        log_sigma = torch.log(sigma)
        if learnable:
            self.mu = nn.Parameter(mu)
            self.log_sigma = nn.Parameter(log_sigma)
        else:
            self.register_buffer("mu", mu)
            self.register_buffer("log_sigma", log_sigma)
        self.register_buffer("lower", lower)
        self.register_buffer("upper", upper)
        self.standard_normal = Normal(torch.zeros_like(mu), torch.ones_like(mu))
        low = (self.lower - self.mu) / self.sigma
        high = (self.upper - self.mu) / self.sigma
        self.register_buffer("cdf_lower", self.standard_normal.cdf(low.detach()))
        self.register_buffer("cdf_upper", self.standard_normal.cdf(high.detach()))

    @property
    def sigma(self):
        return torch.exp(self.log_sigma)

    def sample(self, n):
        u = torch.rand(n, len(self.mu)) * 0.998 + 0.001
        r = (self.cdf_upper - self.cdf_lower) * u + self.cdf_lower
        return self.standard_normal.icdf(r) * self.sigma + self.mu

    def energy(self, x):
        return (0.5 * ((x - self.mu) / self.sigma) ** 2 + self.log_sigma).sum(dim=-1, keepdim=True)


class Coupling(nn.Module):
    def __init__(self, dim, hidden=32, flip=False):
        super().__init__()
        self.half = dim // 2
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.Tanh(), nn.Linear(hidden, 2 * (dim - self.half)))

    def forward(self, x):
        if self.flip:
            x = x.flip(-1)
        a, b = x[:, : self.half], x[:, self.half:]
        scale, shift = self.net(a).chunk(2, dim=-1)
        scale = 0.5 * torch.tanh(scale)
        y = torch.cat([a, b * scale.exp() + shift], dim=-1)
        if self.flip:
            y = y.flip(-1)
        return y, scale.sum(dim=-1, keepdim=True)


class BoltzmannGenerator(nn.Module):
    def __init__(self, prior, dim, layers=4):
        super().__init__()
        self.prior = prior
        self.flow = nn.ModuleList([Coupling(dim, flip=bool(i % 2)) for i in range(layers)])

    def sample(self, n):
        z = self.prior.sample(n)
        x, dlogp = z, 0.0
        for block in self.flow:
            x, dlogdet = block(x)
            dlogp = dlogp + dlogdet
        return x, z, dlogp

    def kl_loss(self, target, n):
        x, z, dlogp = self.sample(n)
        return (target.energy(x) - dlogp - self.prior.energy(z)).mean()


class DoubleWell:
    def __init__(self, dim):
        self.dim = dim

    def energy(self, x):
        first, rest = x[:, :1], x[:, 1:]
        return 0.25 * first - 3.0 * first.pow(2) + first.pow(4) + 0.5 * rest.pow(2).sum(dim=-1, keepdim=True)


def main():
    torch.manual_seed(0)
    dim = 4
    prior = TruncatedGaussian(
        mu=torch.zeros(dim), sigma=torch.full((dim,), 0.8),
        lower=torch.full((dim,), -math.pi), upper=torch.full((dim,), math.pi), learnable=True,
    )
    generator = BoltzmannGenerator(prior, dim)
    target = DoubleWell(dim)
    optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3)

    for it in range(200):
        loss = generator.kl_loss(target, 128)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 50 == 0:
            print(f"iter {it:4d} kl {loss.item():.4f}")

    with torch.no_grad():
        x, _, _ = generator.sample(1000)
    print("mean energy of samples", target.energy(x).mean().item())
    print("prior sigma", prior.sigma.tolist())


if __name__ == "__main__":
    main()
