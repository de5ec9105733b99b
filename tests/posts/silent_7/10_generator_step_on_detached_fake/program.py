import math

import torch
from torch import nn

LATENT = 8
BATCH = 128
STEPS = 1200


def real_points(n):
    angle = 2 * math.pi * torch.rand(n)
    radius = 2.0 + 0.1 * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LATENT, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 2),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
generator = Generator()
discriminator = Discriminator()
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones = torch.ones(BATCH, 1)
zeros = torch.zeros(BATCH, 1)

history = {"d": [], "g": []}
for step in range(STEPS):
    real = real_points(BATCH)
    z = torch.randn(BATCH, LATENT)

    # discriminator
    fake = generator(z).detach()
    loss_d = bce(discriminator(real), ones) + bce(discriminator(fake), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # generator
    loss_g = bce(discriminator(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    history["d"].append(loss_d.item())
    history["g"].append(loss_g.item())
    if (step + 1) % 200 == 0:
        with torch.no_grad():
            radius = generator(torch.randn(2000, LATENT)).norm(dim=1)
        print(f"step {step + 1:4d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}  "
              f"radius {radius.mean():.3f} +- {radius.std():.3f}  (data 2.0 +- 0.1)")

tail = 100
print("mean over the last steps: "
      f"D {sum(history['d'][-tail:]) / tail:.3f}  G {sum(history['g'][-tail:]) / tail:.3f}")
