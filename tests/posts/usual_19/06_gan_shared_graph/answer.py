import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

latent_dim = 32
img_dim = 28 * 28
lr = 2e-4

G = nn.Sequential(
    nn.Linear(latent_dim, 128),
    nn.LeakyReLU(0.2),
    nn.Linear(128, 256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, img_dim),
    nn.Tanh(),
)

D = nn.Sequential(
    nn.Linear(img_dim, 256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, 1),
    nn.Sigmoid(),
)

bce = nn.BCELoss()
opt_g = torch.optim.Adam(G.parameters(), lr=lr, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=lr, betas=(0.5, 0.999))

data = torch.rand(320, img_dim) * 2 - 1
loader = DataLoader(TensorDataset(data), batch_size=64, shuffle=True)

for epoch in range(2):
    for (real,) in loader:
        b = real.size(0)

        # discriminator
        z = torch.randn(b, latent_dim)
        fake = G(z)
        real_loss = bce(D(real), torch.ones(b, 1))
        fake_loss = bce(D(fake.detach()), torch.zeros(b, 1))
        d_loss = (real_loss + fake_loss) / 2
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        # generator
        g_loss = bce(D(fake), torch.ones(b, 1))
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
    print(f"[{epoch}] D: {d_loss.item():.4f} G: {g_loss.item():.4f}")
