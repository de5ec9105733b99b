import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CityMaps(Dataset):
    """label maps of streets at 32 x 64, 8 coarse classes"""

    def __init__(self, n=48, num_classes=8):
        torch.manual_seed(3)
        blocks = torch.randint(num_classes, (n, 1, 4, 8)).float()
        self.maps = F.interpolate(blocks, scale_factor=8).long()

    def __len__(self):
        return len(self.maps)

    def __getitem__(self, i):
        return self.maps[i]


class ResBlock(nn.Module):
    def __init__(self, ch_in, ch_out, time_dim):
        super().__init__()
        self.time = nn.Linear(time_dim, ch_out)
        self.block1 = nn.Sequential(nn.Conv2d(ch_in, ch_out, 3, padding=1), nn.GroupNorm(8, ch_out), nn.SiLU())
        self.block2 = nn.Sequential(nn.Conv2d(ch_out, ch_out, 3, padding=1), nn.GroupNorm(8, ch_out), nn.SiLU())
        self.res_conv = nn.Conv2d(ch_in, ch_out, 1) if ch_in != ch_out else nn.Identity()

    def forward(self, x, t):
        h = self.block1(x) + self.time(t)[:, :, None, None]
        return self.block2(h) + self.res_conv(x)


class SegmentationUnet(nn.Module):
    def __init__(self, num_classes, dim=16, num_steps=50):
        super().__init__()
        self.num_classes, self.dim, self.num_steps = num_classes, dim, num_steps
        self.embedding = nn.Embedding(num_classes, dim)
        self.time_mlp = nn.Sequential(nn.Linear(1, 64), nn.SiLU(), nn.Linear(64, 64))
        self.down1, self.down2 = ResBlock(dim, 32, 64), ResBlock(32, 64, 64)
        self.mid = ResBlock(64, 64, 64)
        self.up = ResBlock(96, 32, 64)
        self.final_conv = nn.Conv2d(32, num_classes, 1)

    def forward(self, time, x):
        x_shape = x.size()[1:]
        if len(x.size()) == 3:
            x = x[:, None]
        B, C, H, W = x.size()
        x = self.embedding(x)
        x = x.permute(0, 1, 3, 2, 4)
        x = x.reshape(B, C * self.dim, H, W)

        t = self.time_mlp(time[:, None].float() / self.num_steps)
        h1 = self.down1(x, t)
        h2 = self.down2(F.avg_pool2d(h1, 2), t)
        h2 = self.mid(h2, t)
        x = self.up(torch.cat([h1, F.interpolate(h2, scale_factor=2)], dim=1), t)
        return self.final_conv(x).reshape(B, self.num_classes, *x_shape)


class MultinomialDiffusion(nn.Module):
    def __init__(self, denoise_fn, num_classes, timesteps=50):
        super().__init__()
        self.denoise_fn, self.num_classes, self.timesteps = denoise_fn, num_classes, timesteps
        s = torch.linspace(0, 1, timesteps + 1)[1:]
        self.register_buffer('cumprod_alpha', torch.cos(s * torch.pi / 2).pow(2))

    def q_sample(self, x0, t):
        keep = torch.rand(x0.shape, device=x0.device) < self.cumprod_alpha[t][:, None, None, None]
        return torch.where(keep, x0, torch.randint_like(x0, self.num_classes))

    def loss(self, x0):
        t = torch.randint(self.timesteps, (len(x0),), device=x0.device)
        logits = self.denoise_fn(t, self.q_sample(x0, t))
        return F.cross_entropy(logits, x0)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--batch_size', type=int, default=8)
    parser.add_argument('--lr', type=float, default=1e-3)
    args = parser.parse_args()
    device = 'cuda' if torch.cuda.is_available() else 'cpu'

    loader = DataLoader(CityMaps(), batch_size=args.batch_size, shuffle=True)
    diffusion = MultinomialDiffusion(SegmentationUnet(num_classes=8), num_classes=8).to(device)
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for x in loader:
            loss = diffusion.loss(x.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('Training. Epoch: {}/{}, loss {:.4f}'.format(epoch + 1, args.epochs, loss.item()))
