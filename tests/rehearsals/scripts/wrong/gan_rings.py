# GAN on points from two rings. Run: python gan_rings.py
import math
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(7)
nz = 8
batch_size = 64
lr = 2e-4
num_epochs = 3

angle = torch.rand(1000) * 2 * math.pi
radius = torch.where(torch.rand(1000) < 0.5, 1.0, 2.0) + 0.05 * torch.randn(1000)
points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
dataloader = DataLoader(TensorDataset(points), batch_size=batch_size, shuffle=True)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.05)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, 64), nn.ReLU(True),
            nn.Linear(64, 64), nn.ReLU(True),
            nn.Linear(64, 2),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 1), nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


netG = Generator()
netD = Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCELoss()
fixed_noise = torch.randn(32, nz)
optimizerD = torch.optim.Adam(netD.parameters(), lr=lr, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=lr, betas=(0.5, 0.999))

G_losses, D_losses = [], []
iters = 0
for epoch in range(num_epochs):
    for i, (real,) in enumerate(dataloader):
        # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        b = real.size(0)
        output = netD(real)
        errD_real = criterion(output, torch.ones(b))
        errD_real.backward()
        D_x = output.mean().item()

        fake = netG(torch.randn(b, nz))
        output = netD(fake)
        errD_fake = criterion(output, torch.zeros(b))
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        # (2) update G: maximize log(D(G(z)))
        netG.zero_grad()
        output = netD(fake)
        errG = criterion(output, torch.ones(b))
        errG.backward()
        optimizerG.step()

        if i % 8 == 0:
            print('[%d/%d][%d/%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f'
                  % (epoch, num_epochs, i, len(dataloader), errD.item(), errG.item(), D_x))
        G_losses.append(errG.item())
        D_losses.append(errD.item())
        iters += 1

with torch.no_grad():
    print('mean radius of samples', netG(fixed_noise).norm(dim=1).mean().item())
