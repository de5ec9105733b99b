import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import FakeData

nz, ngf, ndf, nc = 100, 16, 16, 1
lr, beta1, batch_size, num_epochs = 0.0002, 0.5, 32, 1

# number the discriminator should give
real_label = 1.
fake_label = 0.

dataset = FakeData(80, (3, 28, 28), 10, transforms.Compose([
    transforms.Grayscale(), transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))]))
dataloader = DataLoader(dataset, batch_size=batch_size, shuffle=True)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.network = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 3, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.network(z)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.network = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 7, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, x):
        return self.network(x).view(-1, 1).squeeze(1)


netG, netD = Generator(), Discriminator()
criterion = nn.BCELoss()
optimizerD = optim.Adam(netD.parameters(), lr=lr, betas=(beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=lr, betas=(beta1, 0.999))

for epoch in range(num_epochs):
    for i, (real, _) in enumerate(dataloader):
        b_size = real.size(0)
        label = torch.full((b_size,), real_label)
        netD.zero_grad()
        output = netD(real)
        lossD_real = criterion(output, label)
        lossD_real.backward()

        noise = torch.randn(b_size, nz, 1, 1)
        fake = netG(noise)
        label.fill_(fake_label)
        lossD_fake = criterion(netD(fake.detach()), label)
        lossD_fake.backward()
        optimizerD.step()

        netG.zero_grad()
        label.fill_(real_label)
        lossG = criterion(netD(fake), label)
        lossG.backward()
        optimizerG.step()
        print('[%d/%d] Loss_D: %.4f Loss_G: %.4f' % (i, len(dataloader), (lossD_real + lossD_fake).item(), lossG.item()))
