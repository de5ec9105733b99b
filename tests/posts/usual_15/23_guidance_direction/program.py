"""Class-conditional diffusion on 2-D points with classifier-free guidance."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CLASSES, T = 6, 60
CENTERS = torch.stack([torch.tensor([2 * math.cos(a), 2 * math.sin(a)])
                       for a in (2 * math.pi * k / CLASSES for k in range(CLASSES))])


def sample_data(n):
    y = torch.randint(0, CLASSES, (n,))
    return CENTERS[y] + 0.35 * torch.randn(n, 2), y


betas = torch.linspace(1e-3, 0.15, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.label = nn.Embedding(CLASSES + 1, 32)  # the last row stands for "no class"
        self.register_buffer("freqs", torch.exp(-torch.arange(16) / 16 * math.log(1000)))
        self.net = nn.Sequential(
            nn.Linear(2 + 32 + 32, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, 2),
        )

    def forward(self, x, t, y):
        a = t[:, None].float() * self.freqs
        return self.net(torch.cat([x, a.sin(), a.cos(), self.label(y)], dim=1))


def train(model, steps=1200, drop=0.15):
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        x0, y = sample_data(256)
        y = torch.where(torch.rand(len(y)) < drop, torch.full_like(y, CLASSES), y)
        t = torch.randint(0, T, (len(y),))
        noise = torch.randn_like(x0)
        xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * noise
        loss = F.mse_loss(model(xt, t, y), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 300 == 0:
            print(f"step {step}  loss {loss.item():.3f}")


@torch.no_grad()
def sample(model, y, guidance=2.0):
    x = torch.randn(len(y), 2)
    null = torch.full_like(y, CLASSES)
    for i in reversed(range(T)):
        t = torch.full((len(y),), i)
        eps_cond = model(x, t, y)
        eps_uncond = model(x, t, null)
        eps = eps_cond + guidance * (eps_uncond - eps_cond)
        mean = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / alphas[i].sqrt()
        x = mean + betas[i].sqrt() * torch.randn_like(x) if i > 0 else mean
    return x


def hit_rate(x, y):
    return (torch.cdist(x, CENTERS).argmin(1) == y).float().mean().item()


if __name__ == "__main__":
    model = Denoiser()
    train(model)
    model.eval()
    y = torch.arange(CLASSES).repeat_interleave(100)
    for w in (0.5, 1.0, 2.0, 4.0):
        x = sample(model, y, guidance=w)
        spread = torch.stack([x[y == c].std(0).mean() for c in range(CLASSES)]).mean().item()
        print(f"guidance {w}: class hit rate {hit_rate(x, y):.3f}, spread within a class {spread:.3f}")
