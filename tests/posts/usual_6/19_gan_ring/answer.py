#!/usr/bin/env python
# simple GAN: learn a ring of 8 gaussians
import numpy as np
import torch
import torch.nn as nn

z_dim = 16
batch_size = 128
lr = 1e-3
num_iters = 400

np.random.seed(0)
torch.manual_seed(0)
device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')


def real_samples(n):
    angles = 2 * np.pi * np.random.randint(0, 8, n) / 8
    pts = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 2.0
    pts += 0.05 * np.random.randn(n, 2)
    return torch.tensor(pts, dtype=torch.float32, device=device)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(z_dim, 64), nn.ReLU(True),
            nn.Linear(64, 64), nn.ReLU(True),
            nn.Linear(64, 2),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2, True),
            nn.Linear(64, 64), nn.LeakyReLU(0.2, True),
            nn.Linear(64, 1), nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


netG = Generator().to(device)
netD = Discriminator().to(device)
criterion = nn.BCELoss()
optD = torch.optim.Adam(netD.parameters(), lr=lr, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=lr, betas=(0.5, 0.999))

real_label, fake_label = 1., 0.

for it in range(num_iters):
    # --- D: maximize log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    x = real_samples(batch_size)
    label = torch.full((batch_size,), real_label, device=device)
    errD_real = criterion(netD(x), label)
    errD_real.backward()

    z = torch.randn(batch_size, z_dim, device=device)
    fake = netG(z)
    label.fill_(fake_label)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    optD.step()

    # --- G: maximize log(D(G(z)))
    netG.zero_grad()
    label.fill_(real_label)
    errG = criterion(netD(fake), label)
    errG.backward()
    optG.step()

    if it % 100 == 0:
        print('[%d/%d] Loss_D: %.4f Loss_G: %.4f' % (it, num_iters, errD_real.item() + errD_fake.item(), errG.item()))

netG.eval()
with torch.no_grad():
    pts = netG(torch.randn(1000, z_dim, device=device)).cpu().numpy()
radius = np.sqrt((pts ** 2).sum(1))
print('mean radius of the samples: %.3f (data: 2.0)' % radius.mean())
