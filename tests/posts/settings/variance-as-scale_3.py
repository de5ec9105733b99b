# line 17: torch.normal gets exp(logvar), the variance, as the standard deviation of the latent path
import math

import torch
from torch import nn


class TrajectoryVAE(nn.Module):
    def __init__(self, steps=20, latent=3, width=32):
        super().__init__()
        self.read = nn.GRU(2, width, batch_first=True)
        self.mean, self.logvar = nn.Linear(width, latent), nn.Linear(width, latent)
        self.write = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 2 * steps))

    def sample(self, mean, logvar):
        unit = torch.normal(torch.zeros_like(mean), torch.ones_like(mean))
        return mean + unit * torch.exp(logvar)

    def forward(self, path):
        h = self.read(path)[1].squeeze(0)
        mean, logvar = self.mean(h), self.logvar(h)
        return self.write(self.sample(mean, logvar)).view_as(path), mean, logvar


def negative_bound(output, path, noise=0.1):
    drawn, mean, logvar = output
    fit = (drawn - path).square().sum(dim=(1, 2)) / (2 * noise**2)
    divergence = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(1)
    return (fit + divergence).mean()


def arcs(n, steps=20):
    radius = 0.5 + torch.rand(n, 1)
    start = 2 * math.pi * torch.rand(n, 1)
    angle = start + torch.linspace(0, 2, steps)
    path = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=-1)
    return path + 0.02 * torch.randn_like(path)


torch.manual_seed(0)
vae = TrajectoryVAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
paths = arcs(500)
for epoch in range(10):
    vae.train()
    total = 0.0
    for rows in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = negative_bound(vae(paths[rows]), paths[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(vae.parameters(), 10.0)
        opt.step()
        total += loss.item() * len(rows)
    print(epoch, total / 500)
vae.eval()
with torch.no_grad():
    drawn = vae.write(torch.randn(200, 3)).view(200, 20, 2)
    print("radius of drawn paths", drawn.norm(dim=-1).mean().item())
