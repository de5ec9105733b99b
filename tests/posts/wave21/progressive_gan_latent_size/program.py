import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PixelNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-8)


class EqualConv2d(nn.Module):
    def __init__(self, in_ch, out_ch, kernel, padding):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_ch, in_ch, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(out_ch))
        self.scale = (2 / (in_ch * kernel ** 2)) ** 0.5
        self.padding = padding

    def forward(self, x):
        return F.conv2d(x, self.weight * self.scale, self.bias, padding=self.padding)


def num_filters(stage, fmap_base, fmap_max):
    return min(int(fmap_base / 2.0 ** stage), fmap_max)


def g_block(in_ch, out_ch):
    return nn.Sequential(
        nn.Upsample(scale_factor=2, mode="nearest"),
        EqualConv2d(in_ch, out_ch, 3, 1), nn.LeakyReLU(0.2), PixelNorm(),
        EqualConv2d(out_ch, out_ch, 3, 1), nn.LeakyReLU(0.2), PixelNorm(),
    )


class Generator(nn.Module):
    def __init__(self, resolution=16, num_channels=3, latent_size=64, fmap_base=512, fmap_max=64):
        super().__init__()
        self.latent_size = latent_size
        stages = int(np.log2(resolution)) - 2
        nf = [num_filters(s + 1, fmap_base, fmap_max) for s in range(stages + 1)]
        self.first = nn.Sequential(
            PixelNorm(),
            EqualConv2d(nf[0], nf[0], 4, 3), nn.LeakyReLU(0.2), PixelNorm(),
            EqualConv2d(nf[0], nf[0], 3, 1), nn.LeakyReLU(0.2), PixelNorm(),
        )
        self.blocks = nn.ModuleList(g_block(nf[s], nf[s + 1]) for s in range(stages))
        self.to_rgb = nn.ModuleList(EqualConv2d(n, num_channels, 1, 0) for n in nf)

    def forward(self, z, level):
        x = self.first(z.view(z.size(0), -1, 1, 1))
        for block in self.blocks[:level]:
            x = block(x)
        return torch.tanh(self.to_rgb[level](x))


class Discriminator(nn.Module):
    def __init__(self, resolution=16, num_channels=3, fmap_base=512, fmap_max=64):
        super().__init__()
        stages = int(np.log2(resolution)) - 2
        nf = [num_filters(s + 1, fmap_base, fmap_max) for s in range(stages + 1)]
        self.from_rgb = nn.ModuleList(EqualConv2d(num_channels, n, 1, 0) for n in nf)
        self.blocks = nn.ModuleList(
            nn.Sequential(EqualConv2d(nf[s + 1], nf[s], 3, 1), nn.LeakyReLU(0.2), nn.AvgPool2d(2))
            for s in range(stages))
        self.last = nn.Sequential(
            EqualConv2d(nf[0], nf[0], 4, 0), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(nf[0], 1))

    def forward(self, x, level):
        x = F.leaky_relu(self.from_rgb[level](x), 0.2)
        for block in reversed(self.blocks[:level]):
            x = block(x)
        return self.last(x).squeeze(1)


def color_blobs(n, resolution, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:resolution, :resolution] / resolution
    cy, cx = rng.uniform(0.2, 0.8, (2, n, 1, 1))
    blob = np.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / 0.05)
    color = rng.uniform(-1, 1, (n, 3, 1, 1))
    return torch.tensor(blob[:, None] * (color + 1) - 1, dtype=torch.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resolution", type=int, default=16)
    parser.add_argument("--latent-size", type=int, default=32)
    parser.add_argument("--fmap-base", type=int, default=512)
    parser.add_argument("--fmap-max", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(0)

    G = Generator(args.resolution, 3, args.latent_size, args.fmap_base, args.fmap_max)
    D = Discriminator(args.resolution, 3, args.fmap_base, args.fmap_max)
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.99))
    opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.99))
    data = color_blobs(320, args.resolution)
    loader = DataLoader(TensorDataset(data), args.batch_size, shuffle=True, drop_last=True)

    for level in range(len(G.blocks) + 1):
        factor = args.resolution // (4 * 2 ** level)
        for (real,) in loader:
            real = F.avg_pool2d(real, factor) if factor > 1 else real
            z = torch.randn(len(real), args.latent_size)
            fake = G(z, level)
            d_loss = F.softplus(-D(real, level)).mean() + F.softplus(D(fake.detach(), level)).mean()
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            g_loss = F.softplus(-D(fake, level)).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        print(f"level {level} ({4 * 2 ** level}px): D {d_loss.item():.3f}  G {g_loss.item():.3f}")


if __name__ == "__main__":
    main()
