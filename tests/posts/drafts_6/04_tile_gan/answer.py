# small DCGAN for glazed tile patterns, after the PyTorch tutorial
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)

nz, ngf, ndf, nc = 32, 16, 16, 3
batch_size = 32
num_epochs = 3


def tile_patterns(n):
    t = torch.linspace(0, 1, 32)
    yy, xx = torch.meshgrid(t, t, indexing="ij")
    out = torch.empty(n, 3, 32, 32)
    for i in range(n):
        fx, fy = torch.randint(1, 4, (2,)).tolist()
        wave = torch.sin(6.283 * fx * xx) * torch.cos(6.283 * fy * yy)
        colour = torch.rand(3, 1, 1) * 0.6 + 0.4
        out[i] = wave * colour
    return out


dataloader = DataLoader(TensorDataset(tile_patterns(512)), batch_size=batch_size, shuffle=True, drop_last=True)


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 4),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 4, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1)


netG = Generator()
netD = Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
start = netG.main[0].weight.detach().clone()

criterion = nn.BCELoss()
opt_d = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_g = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(num_epochs):
    for (real,) in dataloader:
        ones = torch.ones(batch_size)
        zeros = torch.zeros(batch_size)

        # discriminator
        netD.zero_grad()
        loss_real = criterion(netD(real), ones)
        loss_real.backward()
        fake = netG(torch.randn(batch_size, nz, 1, 1))
        loss_fake = criterion(netD(fake.detach()), zeros)
        loss_fake.backward()
        opt_d.step()

        # generator
        netG.zero_grad()
        loss_g = criterion(netD(fake), ones)
        loss_g.backward()
        opt_g.step()

    print(f"[{epoch + 1}/{num_epochs}] D {loss_real.item() + loss_fake.item():.3f}  G {loss_g.item():.3f}")

moved = (netG.main[0].weight - start).abs().mean().item()
print(f"first layer of G moved by {moved:.5f}")
