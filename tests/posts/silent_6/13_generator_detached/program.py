import torch
from torch import nn

torch.manual_seed(3)

LATENT = 8
BATCH = 128
STEPS = 1500


def real_batch(n):
    """Two correlated measurements around (2, -1)."""
    z = torch.randn(n, 2)
    x = 2.0 + 0.5 * z[:, :1]
    y = -1.0 + 0.4 * z[:, :1] + 0.2 * z[:, 1:]
    return torch.cat([x, y], dim=1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LATENT, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 2),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.net(x)


def describe(G, title):
    with torch.no_grad():
        s = G(torch.randn(2000, LATENT))
    print(f"{title}: mean {[round(v, 2) for v in s.mean(0).tolist()]} std {[round(v, 2) for v in s.std(0).tolist()]}")


G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

describe(G, "before")
for step in range(1, STEPS + 1):
    # discriminator
    real = real_batch(BATCH)
    fake = G(torch.randn(BATCH, LATENT))
    opt_d.zero_grad()
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    loss_g = bce(D(fake.detach()), ones)
    loss_g.backward()
    opt_g.step()

    if step % 300 == 0:
        print(f"step {step:4d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}")
describe(G, "after ")
describe(lambda z: real_batch(len(z)), "real  ")
