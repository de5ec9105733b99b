import torch
import torch.nn as nn

torch.manual_seed(42)

latent_dim = 32
data_dim = 64
batch_size = 64
n_steps = 60
lr = 2e-4


def sample_real(n):
    phase = torch.rand(n, 1) * 6.283
    grid = torch.linspace(0, 6.283, data_dim).unsqueeze(0)
    return torch.sin(grid + phase)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, data_dim),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(data_dim, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x)


G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=lr, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=lr, betas=(0.5, 0.999))
criterion = nn.BCELoss()

real_labels = torch.ones(batch_size)
fake_labels = torch.zeros(batch_size)

for step in range(n_steps):
    real = sample_real(batch_size)
    z = torch.randn(batch_size, latent_dim)
    fake = G(z)

    # discriminator
    loss_real = criterion(D(real), real_labels)
    loss_fake = criterion(D(fake), fake_labels)
    loss_d = loss_real + loss_fake
    loss_d.backward()
    opt_d.step()

    # generator
    loss_g = criterion(D(fake), real_labels)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 20 == 0:
        print(f"[{step:3d}/{n_steps}] D: {loss_d.item():.4f}  G: {loss_g.item():.4f}")

with torch.no_grad():
    samples = G(torch.randn(8, latent_dim))
print("samples:", samples.shape)
