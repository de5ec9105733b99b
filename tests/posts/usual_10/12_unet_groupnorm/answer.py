import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class DiffusionConfig:
    image_size: int = 16
    channels: int = 1
    base: int = 48
    mults: tuple = (1, 2)
    timesteps: int = 100
    batch_size: int = 16
    lr: float = 2e-4
    steps: int = 20


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.sin(), args.cos()], dim=-1)


def norm(ch):
    return nn.GroupNorm(16, ch)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, emb_dim):
        super().__init__()
        self.in_layers = nn.Sequential(norm(cin), nn.SiLU(), nn.Conv2d(cin, cout, 3, padding=1))
        self.emb = nn.Linear(emb_dim, cout)
        self.out_layers = nn.Sequential(norm(cout), nn.SiLU(), nn.Conv2d(cout, cout, 3, padding=1))
        self.skip = nn.Identity() if cin == cout else nn.Conv2d(cin, cout, 1)

    def forward(self, x, emb):
        h = self.in_layers(x) + self.emb(F.silu(emb))[:, :, None, None]
        return self.skip(x) + self.out_layers(h)


class UNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        c = cfg.base
        self.dim = c
        emb = 4 * c
        self.time = nn.Sequential(nn.Linear(c, emb), nn.SiLU(), nn.Linear(emb, emb))
        chs = [c * m for m in cfg.mults]
        self.stem = nn.Conv2d(cfg.channels, c, 3, padding=1)
        self.down = nn.ModuleList()
        prev = c
        for ch in chs:
            self.down.append(ResBlock(prev, ch, emb))
            prev = ch
        self.mid = ResBlock(prev, prev, emb)
        self.up = nn.ModuleList()
        for ch in reversed(chs):
            self.up.append(ResBlock(prev + ch, ch, emb))
            prev = ch
        self.out = nn.Sequential(norm(prev), nn.SiLU(), nn.Conv2d(prev, cfg.channels, 3, padding=1))

    def forward(self, x, t):
        emb = self.time(timestep_embedding(t, self.dim))
        h, skips = self.stem(x), []
        for block in self.down:
            h = block(h, emb)
            skips.append(h)
            h = F.avg_pool2d(h, 2)
        h = self.mid(h, emb)
        for block in self.up:
            h = F.interpolate(h, scale_factor=2, mode="nearest")
            h = block(torch.cat([h, skips.pop()], dim=1), emb)
        return self.out(h)


class GaussianDiffusion:
    def __init__(self, model, cfg):
        self.model, self.T = model, cfg.timesteps
        betas = torch.linspace(1e-3, 0.1, self.T)
        self.alpha_bar = torch.cumprod(1 - betas, 0)

    def loss(self, x0):
        t = torch.randint(0, self.T, (x0.size(0),))
        a = self.alpha_bar[t].view(-1, 1, 1, 1)
        noise = torch.randn_like(x0)
        return F.mse_loss(self.model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)


def blobs(n, size):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.rand(n, 2, 1, 1) * size
    d2 = (yy - c[:, :1]) ** 2 + (xx - c[:, 1:]) ** 2
    return torch.exp(-d2 / 12.0) * 2 - 1


def main():
    torch.manual_seed(0)
    cfg = DiffusionConfig()
    model = UNet(cfg)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters")
    diffusion = GaussianDiffusion(model, cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    model.train()
    for step in range(cfg.steps):
        loss = diffusion.loss(blobs(cfg.batch_size, cfg.image_size))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
