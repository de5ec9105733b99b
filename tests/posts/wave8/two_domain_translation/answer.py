import itertools

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ResidualBlock(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(features, features, 3), nn.InstanceNorm2d(features), nn.ReLU(True),
            nn.ReflectionPad2d(1), nn.Conv2d(features, features, 3), nn.InstanceNorm2d(features))

    def forward(self, x):
        return x + self.block(x)


class Encoder(nn.Module):
    def __init__(self, in_channels=3, dim=32, n_downsample=2):
        super().__init__()
        layers = [nn.ReflectionPad2d(3), nn.Conv2d(in_channels, dim, 7), nn.InstanceNorm2d(dim), nn.LeakyReLU(0.2)]
        for _ in range(n_downsample):
            layers += [nn.Conv2d(dim, dim * 2, 4, 2, 1), nn.InstanceNorm2d(dim * 2), nn.ReLU()]
            dim *= 2
        self.model = nn.Sequential(*layers, ResidualBlock(dim))

    def forward(self, x):
        mu = self.model(x)
        return mu, mu + torch.randn_like(mu)


class Generator(nn.Module):
    def __init__(self, out_channels=3, dim=32, n_upsample=2, shared_block=None):
        super().__init__()
        self.shared_block = shared_block
        dim = dim * 2 ** n_upsample
        layers = [ResidualBlock(dim)]
        for _ in range(n_upsample):
            layers += [nn.ConvTranspose2d(dim, dim // 2, 4, 2, 1), nn.InstanceNorm2d(dim // 2), nn.LeakyReLU(0.2)]
            dim //= 2
        self.model = nn.Sequential(*layers, nn.ReflectionPad2d(3), nn.Conv2d(dim, out_channels, 7), nn.Tanh())

    def forward(self, x):
        return self.model(self.shared_block(x))


class Discriminator(nn.Module):
    def __init__(self, channels=3):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(channels, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(64, 1, 3, padding=1))

    def forward(self, x):
        return self.model(x)


class TwoDomains(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return {'A': torch.rand(3, 64, 64, generator=g) * 2 - 1, 'B': torch.rand(3, 64, 64, generator=g) * 2 - 1}


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
torch.manual_seed(0)
shared_G = ResidualBlock(32 * 2 ** 2)
encoder = Encoder().to(device)
G1, G2 = Generator(shared_block=shared_G).to(device), Generator(shared_block=shared_G).to(device)
D1, D2 = Discriminator().to(device), Discriminator().to(device)

# Optimizers
params_G = dict.fromkeys(itertools.chain(encoder.parameters(), G1.parameters(), G2.parameters()))
optimizer_G = torch.optim.Adam(
    list(params_G), lr=0.0001, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(itertools.chain(D1.parameters(), D2.parameters()), lr=0.0001, betas=(0.5, 0.999))
criterion_GAN, criterion_pixel = nn.MSELoss(), nn.L1Loss()

for epoch in range(1):
    for i, batch in enumerate(DataLoader(TwoDomains(), batch_size=2, shuffle=True)):
        X1, X2 = batch['A'].to(device), batch['B'].to(device)
        (mu1, Z1), (mu2, Z2) = encoder(X1), encoder(X2)
        fake_X1, fake_X2 = G1(Z2), G2(Z1)

        optimizer_G.zero_grad()
        pred1, pred2 = D1(fake_X1), D2(fake_X2)
        loss_GAN = criterion_GAN(pred1, torch.ones_like(pred1)) + criterion_GAN(pred2, torch.ones_like(pred2))
        loss_kl = mu1.pow(2).mean() + mu2.pow(2).mean()
        loss_id = criterion_pixel(G1(Z1), X1) + criterion_pixel(G2(Z2), X2)
        loss_G = 10 * loss_GAN + 0.1 * loss_kl + 100 * loss_id
        loss_G.backward()
        optimizer_G.step()

        optimizer_D.zero_grad()
        loss_D = 0
        for D, real, fake in [(D1, X1, fake_X1.detach()), (D2, X2, fake_X2.detach())]:
            pred_real, pred_fake = D(real), D(fake)
            loss_D = loss_D + criterion_GAN(pred_real, torch.ones_like(pred_real))
            loss_D = loss_D + criterion_GAN(pred_fake, torch.zeros_like(pred_fake))
        loss_D.backward()
        optimizer_D.step()
        print('[Epoch %d] [Batch %d] [D loss: %f] [G loss: %f]' % (epoch, i, loss_D.item(), loss_G.item()))
