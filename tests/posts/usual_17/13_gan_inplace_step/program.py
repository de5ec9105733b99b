import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
nz, ngf, ndf, nc = 32, 16, 16, 1
batch_size = 32
epochs = 2
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def weights_init(m):
    name = m.__class__.__name__
    if name.find('Conv') != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif name.find('BatchNorm') != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False))

    def forward(self, x):
        return self.main(x).view(-1)


data = torch.rand(256, nc, 16, 16) * 2 - 1
loader = DataLoader(TensorDataset(data), batch_size=batch_size, shuffle=True)

netG = Generator().to(device).apply(weights_init)
netD = Discriminator().to(device).apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(epochs):
    for i, (real,) in enumerate(loader):
        real = real.to(device)
        b = real.size(0)
        ones = torch.ones(b, device=device)
        zeros = torch.zeros(b, device=device)

        noise = torch.randn(b, nz, 1, 1, device=device)
        fake = netG(noise)
        pred_real = netD(real)
        pred_fake = netD(fake)

        optD.zero_grad()
        lossD = criterion(pred_real, ones) + criterion(pred_fake, zeros)
        lossD.backward(retain_graph=True)
        optD.step()

        optG.zero_grad()
        lossG = criterion(pred_fake, ones)
        lossG.backward()
        optG.step()

    print('[%d/%d] Loss_D: %.4f Loss_G: %.4f' % (epoch + 1, epochs, lossD.item(), lossG.item()))

with torch.no_grad():
    samples = netG(torch.randn(16, nz, 1, 1, device=device))
print(samples.shape, samples.mean().item())
