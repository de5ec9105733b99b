import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TexturePatches(Dataset):
    """High resolution patches and their downscaled versions."""

    def __init__(self, n, image_size, upsampling):
        self.n, self.image_size, self.upsampling = n, image_size, upsampling

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        axis = torch.linspace(0, 6.28, self.image_size)
        freq = torch.randint(1, 6, (3, 2), generator=g).float()
        high = torch.stack([torch.sin(f[0] * axis)[:, None] * torch.cos(f[1] * axis)[None] for f in freq])
        high = (high + 1) / 2
        low = F.interpolate(high[None], scale_factor=1 / self.upsampling, mode='area')[0]
        return low, high


class ResidualBlock(nn.Module):
    def __init__(self, channels=32):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.silu(self.bn1(self.conv1(x)))
        return self.bn2(self.conv2(y)) + x


class UpsampleBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels * 4, 3, padding=1)
        self.shuffler = nn.PixelShuffle(2)

    def forward(self, x):
        return F.silu(self.shuffler(self.conv(x)))


class Generator(nn.Module):
    def __init__(self, n_residual_blocks, upsample_factor, channels=32):
        super().__init__()
        self.upsample_factor = upsample_factor

        self.conv1 = nn.Conv2d(3, channels, 9, padding=4)
        self.residuals = nn.ModuleList(ResidualBlock(channels) for _ in range(n_residual_blocks))
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(channels)
        self.n_upsample_blocks = self.upsample_factor // 2
        self.upsamples = nn.ModuleList(UpsampleBlock(channels) for _ in range(self.n_upsample_blocks))
        self.conv3 = nn.Conv2d(channels, 3, 9, padding=4)

    def forward(self, x):
        x = F.silu(self.conv1(x))
        y = x
        for block in self.residuals:
            y = block(y)
        x = self.bn2(self.conv2(y)) + x
        for block in self.upsamples:
            x = block(x)
        return self.conv3(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        layers, cin = [], 3
        for cout in (16, 32, 64):
            layers += [nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.LeakyReLU(0.2)]
            cin = cout
        self.net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--upSampling', type=int, default=8, help='low to high resolution scaling factor')
    parser.add_argument('--imageSize', type=int, default=64, help='the high resolution image size')
    parser.add_argument('--batchSize', type=int, default=8)
    parser.add_argument('--nEpochs', type=int, default=2)
    parser.add_argument('--lr', type=float, default=5e-4)
    opt = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(TexturePatches(64, opt.imageSize, opt.upSampling), batch_size=opt.batchSize, shuffle=True)
    generator, discriminator = Generator(2, opt.upSampling), Discriminator()
    content, adversarial = nn.MSELoss(), nn.BCEWithLogitsLoss()
    optim_g = torch.optim.Adam(generator.parameters(), lr=opt.lr)
    optim_d = torch.optim.Adam(discriminator.parameters(), lr=opt.lr)
    for epoch in range(opt.nEpochs):
        for low, high in loader:
            fake = generator(low)
            real_score, fake_score = discriminator(high), discriminator(fake.detach())
            loss_d = adversarial(real_score, torch.ones_like(real_score)) + adversarial(fake_score, torch.zeros_like(fake_score))
            optim_d.zero_grad()
            loss_d.backward()
            optim_d.step()

            score = discriminator(fake)
            loss_g = content(fake, high) + 1e-3 * adversarial(score, torch.ones_like(score))
            optim_g.zero_grad()
            loss_g.backward()
            optim_g.step()
        print(f'[{epoch + 1}/{opt.nEpochs}] D {loss_d.item():.4f} G {loss_g.item():.4f}')


if __name__ == '__main__':
    main()
