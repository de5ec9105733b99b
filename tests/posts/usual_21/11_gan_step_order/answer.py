import argparse

import torch
import torch.nn as nn


def build_generator(z_dim, out_dim):
    return nn.Sequential(
        nn.Linear(z_dim, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, out_dim),
    )


def build_discriminator(in_dim):
    return nn.Sequential(
        nn.Linear(in_dim, 64),
        nn.LeakyReLU(0.2),
        nn.Linear(64, 64),
        nn.LeakyReLU(0.2),
        nn.Linear(64, 1),
    )


def sample_ring(n):
    angle = torch.rand(n) * 2 * torch.pi
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    return points + 0.05 * torch.randn(n, 2)


def main():
    parser = argparse.ArgumentParser(description="GAN on a ring of points")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--z-dim", type=int, default=8)
    args = parser.parse_args()

    torch.manual_seed(0)
    G = build_generator(args.z_dim, 2)
    D = build_discriminator(2)
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    ones = torch.ones(args.batch, 1)
    zeros = torch.zeros(args.batch, 1)

    for step in range(args.steps):
        real = sample_ring(args.batch)
        fake = G(torch.randn(args.batch, args.z_dim))

        pred_real = D(real)
        pred_fake = D(fake.detach())
        loss_d = bce(pred_real, ones) + bce(pred_fake, zeros)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = bce(D(fake), ones)
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()

        if step % 50 == 0:
            print(f"step {step}: D {loss_d.item():.3f} G {loss_g.item():.3f}")

    with torch.no_grad():
        radius = G(torch.randn(500, args.z_dim)).norm(dim=1).mean()
    print(f"mean radius {radius:.3f}")


if __name__ == "__main__":
    main()
