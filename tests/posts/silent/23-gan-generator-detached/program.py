import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

nz, ngf, ndf = 16, 16, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).view(-1)


torch.manual_seed(0)
real_images = torch.tanh(torch.randn(128, 1, 1, 1) + torch.linspace(-1, 1, 16).view(1, 1, 1, 16).expand(128, 1, 16, 16))
dataloader = DataLoader(TensorDataset(real_images), batch_size=16, shuffle=True, drop_last=True)
netG, netD = Generator(), Discriminator()
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(2):
    for i, (real,) in enumerate(dataloader):
        b = real.size(0)
        ones, zeros = torch.ones(b), torch.zeros(b)
        noise = torch.randn(b, nz, 1, 1)
        fake = netG(noise).detach()

        # update D
        netD.zero_grad()
        lossD = criterion(netD(real), ones) + criterion(netD(fake), zeros)
        lossD.backward()
        optimizerD.step()

        # update G
        netG.zero_grad()
        lossG = criterion(netD(fake), ones)
        lossG.backward()
        optimizerG.step()
    print(f"[{epoch}] Loss_D: {lossD.item():.4f} Loss_G: {lossG.item():.4f}")
