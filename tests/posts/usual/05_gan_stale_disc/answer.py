import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

nz = 32
img_dim = 28 * 28

generator = nn.Sequential(
    nn.Linear(nz, 128),
    nn.LeakyReLU(0.2),
    nn.Linear(128, 256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, img_dim),
    nn.Tanh(),
)

discriminator = nn.Sequential(
    nn.Linear(img_dim, 256),
    nn.LeakyReLU(0.2),
    nn.Linear(256, 128),
    nn.LeakyReLU(0.2),
    nn.Linear(128, 1),
    nn.Sigmoid(),
)

real_images = torch.rand(512, img_dim) * 2 - 1
dataloader = DataLoader(TensorDataset(real_images), batch_size=64, shuffle=True)

criterion = nn.BCELoss()
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(2):
    for i, (real,) in enumerate(dataloader):
        b = real.size(0)
        ones = torch.ones(b, 1)
        zeros = torch.zeros(b, 1)

        noise = torch.randn(b, nz)
        fake = generator(noise)

        # train discriminator
        opt_d.zero_grad()
        d_real = discriminator(real)
        d_fake = discriminator(fake.detach())
        d_loss = 0.5 * (criterion(d_real, ones) + criterion(d_fake, zeros))
        d_loss.backward()
        opt_d.step()

        # train generator
        opt_g.zero_grad()
        g_loss = criterion(discriminator(fake), ones)
        g_loss.backward()
        opt_g.step()

    print(f"[{epoch}] d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f}")
