import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

latent_dim = 32
img_size = 16
lr = 2e-4
n_epochs = 3


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 256),
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
        )

    def forward(self, x):
        return self.net(x)


G, D = Generator(), Discriminator()
opt_G = torch.optim.Adam(G.parameters(), lr=lr, betas=(0.5, 0.999))
opt_D = torch.optim.Adam(D.parameters(), lr=lr, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()

real_images = torch.tanh(torch.randn(512, 1, img_size, img_size) * 0.3 + 0.5)
loader = DataLoader(TensorDataset(real_images), batch_size=64, shuffle=True)

for epoch in range(n_epochs):
    for (real,) in loader:
        bs = real.size(0)
        ones, zeros = torch.ones(bs, 1), torch.zeros(bs, 1)

        fake = G(torch.randn(bs, latent_dim))
        pred_real = D(real)
        pred_fake = D(fake.detach())

        d_loss = bce(pred_real, ones) + bce(pred_fake, zeros)
        opt_D.zero_grad()
        d_loss.backward()
        opt_D.step()

        g_loss = bce(D(fake), ones)
        opt_G.zero_grad()
        g_loss.backward()
        opt_G.step()

    print(f"[{epoch + 1}/{n_epochs}] D loss {d_loss.item():.3f}  G loss {g_loss.item():.3f}")
