import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

latent_dim = 16
batch_size = 64
epochs = 3
lr = 2e-4

torch.manual_seed(0)


def make_digits(n=1024, size=16):
    """White bars on a black ground, scaled to [-1, 1]."""
    images = -torch.ones(n, 1, size, size)
    for i in range(n):
        col = int(torch.randint(2, size - 4, (1,)))
        images[i, :, 2:-2, col : col + 2] = 1.0
    return images


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, 128), nn.LeakyReLU(0.2),
            nn.Linear(128, 256), nn.BatchNorm1d(256), nn.LeakyReLU(0.2),
            nn.Linear(256, 16 * 16), nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z).view(-1, 1, 16, 16)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(),
            nn.Linear(16 * 16, 128), nn.LeakyReLU(0.2), nn.Dropout(0.3),
            nn.Linear(128, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


loader = DataLoader(TensorDataset(make_digits()), batch_size=batch_size, shuffle=True)
G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=lr, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=lr, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()

for epoch in range(epochs):
    for (real,) in loader:
        n = real.size(0)
        ones, zeros = torch.ones(n), torch.zeros(n)

        # discriminator
        z = torch.randn(n, latent_dim)
        fake = G(z)
        opt_d.zero_grad()
        d_loss = criterion(D(real), ones) + criterion(D(fake), zeros)
        d_loss.backward()
        opt_d.step()

        # generator
        opt_g.zero_grad()
        g_loss = criterion(D(fake), ones)
        g_loss.backward()
        opt_g.step()

    print(f"epoch {epoch}: D {d_loss.item():.3f}  G {g_loss.item():.3f}")
