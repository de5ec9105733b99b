import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

LATENT, SIZE, EPOCHS = 16, 12, 8


class Blobs(Dataset):
    """Small grey images of one bright blob, values between 0 and 1."""

    def __init__(self, n=1600, seed=0):
        g = np.random.default_rng(seed)
        yy, xx = np.mgrid[0:SIZE, 0:SIZE]
        cx, cy = g.uniform(3, 9, n), g.uniform(3, 9, n)
        s = g.uniform(1.2, 2.2, n)
        d2 = (xx[None] - cx[:, None, None]) ** 2 + (yy[None] - cy[:, None, None]) ** 2
        self.images = np.exp(-d2 / (2 * s[:, None, None] ** 2)) * 255
        self.images = self.images.astype(np.uint8)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i]).float() / 127.5 - 1.0
        return img.unsqueeze(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LATENT, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 128), nn.BatchNorm1d(128), nn.LeakyReLU(0.2),
            nn.Linear(128, SIZE * SIZE), nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z).view(-1, 1, SIZE, SIZE)


discriminator = nn.Sequential(
    nn.Flatten(), nn.Linear(SIZE * SIZE, 96), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(96, 1)
)

torch.manual_seed(0)
generator = Generator()
loader = DataLoader(Blobs(), batch_size=64, shuffle=True, drop_last=True)
bce = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=5e-4, betas=(0.5, 0.999))
fixed = torch.randn(200, LATENT)

for epoch in range(EPOCHS):
    generator.train()
    d_sum = g_sum = 0.0
    for real in loader:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = generator(torch.randn(len(real), LATENT))

        loss_d = bce(discriminator(real), ones) + bce(discriminator(fake.detach()), zeros)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = bce(discriminator(fake), ones)
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        d_sum += loss_d.item()
        g_sum += loss_g.item()
    generator.eval()
    with torch.no_grad():
        samples = (generator(fixed) + 1) / 2
    print(f"epoch {epoch + 1}: D {d_sum / len(loader):.3f}  G {g_sum / len(loader):.3f}  "
          f"sample mean {samples.mean():.3f}  darkest pixel {samples.amin():.3f}")
print(f"data mean {(torch.stack([loader.dataset[i] for i in range(500)]).mean() + 1) / 2:.3f}")
