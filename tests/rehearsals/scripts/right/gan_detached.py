import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--latent", type=int, default=6)
args = parser.parse_args()
torch.manual_seed(4)


def ring(n):
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(args.latent, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
fixed = torch.randn(8, args.latent)

for step in range(args.steps):
    real = ring(args.batch)
    ones, zeros = torch.ones(args.batch, 1), torch.zeros(args.batch, 1)
    fake = G(torch.randn(args.batch, args.latent))

    opt_d.zero_grad()
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()
    opt_g.step()
    if step % 4 == 0:
        print(f"{step}: D {loss_d.item():.4f} G {loss_g.item():.4f}")

G.eval()
with torch.no_grad():
    print(G(fixed).norm(dim=1).mean().item())
