import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Sprites(Dataset):
    def __init__(self, n=200, size=16):
        g = torch.Generator().manual_seed(0)
        half = (torch.rand(n, 1, size, size // 2, generator=g) > 0.7).float()
        self.x = torch.cat([half, half.flip(-1)], -1) * 2 - 1

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.cos(), args.sin()], -1)


class Denoiser(nn.Module):
    def __init__(self, ch=24, emb=32):
        super().__init__()
        self.emb = emb
        self.time = nn.Sequential(nn.Linear(emb, ch), nn.SiLU(), nn.Linear(ch, ch))
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.mid = nn.Conv2d(ch, ch, 3, padding=1)
        self.norm = nn.GroupNorm(4, ch)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.inp(x) + self.time(timestep_embedding(t, self.emb))[:, :, None, None]
        h = h + F.silu(self.norm(self.mid(F.silu(h))))
        return self.out(h)


class Diffusion:
    def __init__(self, steps=50):
        self.steps = steps
        self.betas = torch.linspace(1e-4, 0.05, steps)
        self.alphas = 1 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, 0)

    def q_sample(self, x0, t, noise):
        a = self.alpha_bar[t]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def loss(self, model, x0):
        t = torch.randint(0, self.steps, (x0.shape[0],))
        noise = torch.randn_like(x0)
        return F.mse_loss(model(self.q_sample(x0, t, noise), t), noise)

    @torch.no_grad()
    def sample(self, model, n, size=16):
        x = torch.randn(n, 1, size, size)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i, dtype=torch.long)
            eps = model(x, t)
            x = (x - self.betas[i] / (1 - self.alpha_bar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


def main():
    torch.manual_seed(0)
    loader = DataLoader(Sprites(), batch_size=16, shuffle=True)
    model = Denoiser()
    diffusion = Diffusion()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        losses = []
        for x0 in loader:
            loss = diffusion.loss(model, x0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        samples = diffusion.sample(model, 4)
        print(f'epoch {epoch} loss {sum(losses) / len(losses):.4f} sample std {samples.std():.3f}')


main()
