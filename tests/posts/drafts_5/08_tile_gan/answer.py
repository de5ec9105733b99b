import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

# hyperparameters
latent_dim = 32
img_size = 16
batch_size = 64
num_epochs = 4
lr = 2e-4

torch.manual_seed(99)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_tiles(n):
    """Small ceramic tile patterns: stripes, checks and crosses, values in [-1, 1]."""
    rng = np.random.default_rng(99)
    yy, xx = np.mgrid[:img_size, :img_size]
    tiles = []
    for _ in range(n):
        period = rng.integers(3, 7)
        kind = rng.integers(3)
        if kind == 0:
            tile = (xx // period) % 2
        elif kind == 1:
            tile = (xx // period + yy // period) % 2
        else:
            tile = (np.abs(xx - yy) < period) | (np.abs(xx + yy - img_size) < period)
        tiles.append(tile * 2.0 - 1.0 + 0.05 * rng.standard_normal(tile.shape))
    return torch.tensor(np.stack(tiles), dtype=torch.float32).clamp(-1, 1).unsqueeze(1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 256),
            nn.BatchNorm1d(256),
            nn.LeakyReLU(0.2),
            nn.Linear(256, img_size * img_size),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z).view(-1, 1, img_size, img_size)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(),
            nn.Linear(img_size * img_size, 256),
            nn.LeakyReLU(0.2),
            nn.Linear(256, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 1),
            nn.Sigmoid(),
        )

    def forward(self, img):
        return self.net(img)


tiles = make_tiles(2000)
loader = DataLoader(TensorDataset(tiles), batch_size=batch_size, shuffle=True, drop_last=True)

G = Generator().to(device)
D = Discriminator().to(device)
opt_G = optim.Adam(G.parameters(), lr=lr, betas=(0.5, 0.999))
opt_D = optim.Adam(D.parameters(), lr=lr, betas=(0.5, 0.999))
criterion = nn.BCELoss()

for epoch in range(num_epochs):
    d_total, g_total = 0.0, 0.0
    for (real,) in loader:
        real = real.to(device)
        ones = torch.ones(real.size(0), 1, device=device)
        zeros = torch.zeros(real.size(0), 1, device=device)

        # train the discriminator
        z = torch.randn(real.size(0), latent_dim, device=device)
        fake = G(z)
        d_loss = criterion(D(real), ones) + criterion(D(fake.detach()), zeros)
        opt_D.zero_grad()
        d_loss.backward()
        opt_D.step()

        # train the generator
        g_loss = criterion(D(fake), ones)
        opt_G.zero_grad()
        g_loss.backward()
        opt_G.step()

        d_total += d_loss.item()
        g_total += g_loss.item()
    print(f"epoch {epoch + 1}: D {d_total / len(loader):.3f}  G {g_total / len(loader):.3f}")

G.eval()
with torch.no_grad():
    samples = G(torch.randn(8, latent_dim, device=device)).cpu()
print("samples", tuple(samples.shape), f"mean {samples.mean():.3f} std {samples.std():.3f}")
