import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class MovingBlobs(Dataset):
    """Short clips of a coloured blob that moves in a straight line."""

    def __init__(self, n, frames=4, size=32):
        self.n, self.frames, self.size = n, frames, size

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        start = torch.rand(2, generator=g) * 0.5 + 0.25
        velocity = (torch.rand(2, generator=g) - 0.5) * 0.12
        colour = torch.rand(3, generator=g)
        axis = torch.linspace(0, 1, self.size)
        clip = []
        for t in range(self.frames):
            y, x = (start + t * velocity).tolist()
            blob = torch.exp(-((axis[:, None] - y) ** 2 + (axis[None] - x) ** 2) / 0.02)
            clip.append(colour[:, None, None] * blob)
        return torch.stack(clip, dim=1) * 2 - 1


def normalize(channels, groups=8):
    return nn.GroupNorm(groups, channels, eps=1e-6)


class ResnetBlock3D(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.norm1, self.conv1 = normalize(cin), nn.Conv3d(cin, cout, 3, padding=1)
        self.norm2, self.conv2 = normalize(cout), nn.Conv3d(cout, cout, 3, padding=1)
        self.shortcut = nn.Conv3d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.conv2(F.silu(self.norm2(h)))
        return self.shortcut(x) + h


class AttnBlock3D(nn.Module):
    """Spatial attention inside every frame of the video."""

    def __init__(self, channels):
        super().__init__()
        self.norm = normalize(channels)
        self.q, self.k, self.v = (nn.Conv3d(channels, channels, 1) for _ in range(3))
        self.proj_out = nn.Conv3d(channels, channels, 1)

    @staticmethod
    def to_frames(video):
        n, channels, frames, height, width = video.shape
        return video.reshape(n * frames, channels, height * width)

    def forward(self, x):
        normed = self.norm(x)
        query = self.to_frames(self.q(normed))
        key = self.to_frames(self.k(normed))
        value = self.to_frames(self.v(normed))
        weights = torch.einsum('ncq,nck->nqk', query, key) / query.shape[1] ** 0.5
        mixed = torch.einsum('nqk,nck->ncq', weights.softmax(dim=-1), value)
        mixed = mixed.reshape(x.shape)
        return x + self.proj_out(mixed)


class VideoVAE(nn.Module):
    def __init__(self, ch=16, z_channels=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv3d(3, ch, 3, stride=(1, 2, 2), padding=1), ResnetBlock3D(ch, ch),
            nn.Conv3d(ch, ch, 3, stride=(1, 2, 2), padding=1), ResnetBlock3D(ch, 2 * ch), AttnBlock3D(2 * ch),
            normalize(2 * ch), nn.SiLU(), nn.Conv3d(2 * ch, 2 * z_channels, 3, padding=1))
        self.decoder = nn.Sequential(
            nn.Conv3d(z_channels, 2 * ch, 3, padding=1), AttnBlock3D(2 * ch), ResnetBlock3D(2 * ch, ch),
            nn.Upsample(scale_factor=(1, 2, 2)), ResnetBlock3D(ch, ch),
            nn.Upsample(scale_factor=(1, 2, 2)), normalize(ch), nn.SiLU(), nn.Conv3d(ch, 3, 3, padding=1))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        logvar = logvar.clamp(-30, 20)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        kl = 0.5 * (mean.pow(2) + logvar.exp() - 1 - logvar).mean()
        return self.decoder(z), kl


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--lr', type=float, default=2e-3)
    parser.add_argument('--kl_weight', type=float, default=1e-5)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(MovingBlobs(64), batch_size=args.batch_size, shuffle=True)
    model = VideoVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = 0.0
        for video in loader:
            recon, kl = model(video)
            loss = F.l1_loss(recon, video) + args.kl_weight * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch}: loss {total / len(loader):.4f}')


if __name__ == '__main__':
    main()
