import torch
import torch.nn as nn

torch.manual_seed(0)
latent_dim = 8
batch_size = 64


def sample_real(n):
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([2 * torch.cos(angle), 2 * torch.sin(angle)], dim=1) + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones = torch.ones(batch_size, 1)
zeros = torch.zeros(batch_size, 1)

for step in range(1500):
    real = sample_real(batch_size)
    z = torch.randn(batch_size, latent_dim)
    fake = G(z)

    # discriminator
    opt_d.zero_grad()
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()
    opt_g.step()

    if step % 300 == 0:
        print(f"step {step} D {loss_d.item():.3f} G {loss_g.item():.3f}")

with torch.no_grad():
    radius = G(torch.randn(1000, latent_dim)).norm(dim=1)
print(f"generated radius: mean {radius.mean():.3f} std {radius.std():.3f}")
