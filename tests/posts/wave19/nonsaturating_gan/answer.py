import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    def __init__(self, z_dim=8, hidden=64):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(
            nn.Linear(z_dim, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(0.2),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def ring_of_gaussians(n, modes=8, seed=0):
    g = torch.Generator().manual_seed(seed)
    k = torch.randint(0, modes, (n,), generator=g).float()
    angle = 2 * math.pi * k / modes
    centre = torch.stack([angle.cos(), angle.sin()], dim=1) * 2
    return centre + 0.1 * torch.randn(n, 2, generator=g)


def discriminator_loss(g, d, x_real, device):
    z = torch.randn(x_real.size(0), g.z_dim, device=device)
    x_fake = g(z).detach()
    return F.softplus(-d(x_real)).mean() + F.softplus(d(x_fake)).mean()


def generator_loss(g, d, n, device):
    z = torch.randn(n, g.z_dim, device=device)
    return F.softplus(-d(g(z))).mean()


def train(args):
    device = torch.device("cpu")
    torch.manual_seed(args.seed)
    loader = DataLoader(TensorDataset(ring_of_gaussians(2048)), batch_size=args.batch_size, shuffle=True, drop_last=True)
    g = Generator(args.z_dim).to(device)
    d = Discriminator().to(device)
    g_optimizer = torch.optim.Adam(g.parameters(), lr=args.lr, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(d.parameters(), lr=args.lr, betas=(0.5, 0.999))

    for epoch in range(args.epochs):
        d_sum, g_sum = 0.0, 0.0
        for (x_real,) in loader:
            d_loss = discriminator_loss(g, d, x_real.to(device), device)
            d_optimizer.zero_grad()
            d_loss.backward()
            d_optimizer.step()

            g_loss = generator_loss(g, d, x_real.size(0), device)
            g_optimizer.zero_grad()
            g_loss.backward()
            g_optimizer.step()

            d_sum += d_loss.item()
            g_sum += g_loss.item()
        print(f"epoch {epoch}: d_loss {d_sum / len(loader):.4f} g_loss {g_sum / len(loader):.4f}")

    g.eval()
    with torch.no_grad():
        samples = g(torch.randn(512, g.z_dim, device=device))
    print("mean radius of the samples:", round(samples.norm(dim=1).mean().item(), 3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--z-dim", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
