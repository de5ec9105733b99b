import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

nz = 16
ngf = ndf = 8
batch_size = 32
num_epochs = 15


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
        )

    def forward(self, x):
        return self.main(x).view(-1)


torch.manual_seed(999)
real_images = torch.full((320, 1, 16, 16), -1.0)
real_images[:, :, 4:12, 4:12] = 1.0
real_images = (real_images + 0.05 * torch.randn_like(real_images)).clamp(-1, 1)
dataloader = DataLoader(TensorDataset(real_images), batch_size=batch_size, shuffle=True)

netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(num_epochs):
    for i, (real,) in enumerate(dataloader):
        b = real.size(0)
        noise = torch.randn(b, nz, 1, 1)
        fake = netG(noise)

        optD.zero_grad()
        lossD_real = criterion(netD(real), torch.ones(b))
        lossD_fake = criterion(netD(fake.detach()), torch.zeros(b))
        lossD = lossD_real + lossD_fake
        lossD.backward()
        optD.step()

        optG.zero_grad()
        output = netD(fake.detach())
        lossG = criterion(output, torch.ones(b))
        lossG.backward()
        optG.step()
    print(f"[{epoch}/{num_epochs}] Loss_D: {lossD.item():.4f} Loss_G: {lossG.item():.4f}")

with torch.no_grad():
    samples = netG(torch.randn(64, nz, 1, 1))
print("distance to the mean image:", (samples.mean(0) - real_images.mean(0)).abs().mean().item())
