import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PairedPatches(Dataset):
    """Low/high resolution pairs of procedural textures."""

    def __init__(self, length=64, hr_size=32, scale=2, seed=0):
        self.length, self.hr_size, self.scale, self.seed = length, hr_size, scale, seed

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        r = random.Random(self.seed * 10007 + idx)
        ax = torch.linspace(0, 1, self.hr_size)
        yy, xx = torch.meshgrid(ax, ax, indexing="ij")
        chans = []
        for _ in range(3):
            fx, fy, ph = r.uniform(2, 9), r.uniform(2, 9), r.uniform(0, 6.28)
            chans.append(0.5 + 0.5 * torch.sin(2 * math.pi * (fx * xx + fy * yy) + ph))
        hr = torch.stack(chans)
        lr = F.avg_pool2d(hr.unsqueeze(0), self.scale).squeeze(0)
        return lr, hr


class ChannelAttention(nn.Module):
    def __init__(self, nf, reduction=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(nf, nf // reduction, 1), nn.ReLU(),
            nn.Conv2d(nf // reduction, nf, 1), nn.Sigmoid(),
        )

    def forward(self, x):
        return x * self.body(x)


class ResBlock(nn.Module):
    def __init__(self, nf):
        super().__init__()
        self.conv1 = nn.Conv2d(nf, nf, 3, 1, 1)
        self.conv2 = nn.Conv2d(nf, nf, 3, 1, 1)
        self.att = ChannelAttention(nf)

    def forward(self, x):
        out = F.relu(self.conv1(x))
        out = F.relu(self.conv2(out))
        out = out + self.att(out)
        return x + out


class SRNet(nn.Module):
    def __init__(self, nf=24, n_blocks=3, scale=2):
        super().__init__()
        self.scale = scale
        self.head = nn.Conv2d(3, nf, 3, 1, 1)
        self.blocks = nn.Sequential(*[ResBlock(nf) for _ in range(n_blocks)])
        self.up = nn.Sequential(nn.Conv2d(nf, 3 * scale ** 2, 3, 1, 1), nn.PixelShuffle(scale))

    def forward(self, x):
        base = F.interpolate(x, scale_factor=self.scale, mode="bilinear", align_corners=False)
        feat = self.head(x)
        return base + self.up(feat + self.blocks(feat))


def psnr(a, b):
    mse = (a.clamp(0, 1) - b).pow(2).flatten(1).mean(1)
    return (-10 * torch.log10(mse)).sum().item()


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(PairedPatches(64, seed=0), batch_size=8, shuffle=True)
    val_loader = DataLoader(PairedPatches(16, seed=1), batch_size=8)
    net = SRNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    criterion = nn.L1Loss()
    for epoch in range(3):
        net.train()
        for lr_img, hr_img in train_loader:
            sr = net(lr_img)
            loss = criterion(sr, hr_img)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            score = sum(psnr(net(l), h) for l, h in val_loader) / len(val_loader.dataset)
        print(f"epoch {epoch}: PSNR {score:.2f} dB")


if __name__ == "__main__":
    main()
