import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# class-conditional DDPM on 2D points, with classifier-free guidance

N_CLASSES = 6
T = 100
P_UNCOND = 0.1
GUIDANCE = 2.0


def sample_data(n):
    """six gaussian petals on a circle"""
    c = torch.randint(0, N_CLASSES, (n,))
    angle = 2 * math.pi * c / N_CLASSES
    centre = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centre + 0.08 * torch.randn(n, 2), c


class Schedule:
    def __init__(self, T):
        self.betas = torch.linspace(1e-4, 0.08, T)
        self.alphas = 1 - self.betas
        self.abar = torch.cumprod(self.alphas, dim=0)

    def q_sample(self, x0, t, eps):
        a = self.abar[t][:, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * eps


class Denoiser(nn.Module):
    def __init__(self, n_classes, hidden=128):
        super().__init__()
        self.null_class = n_classes
        self.hidden = hidden
        self.time_mlp = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.class_emb = nn.Embedding(n_classes + 1, hidden)
        self.inp = nn.Linear(2, hidden)
        self.blocks = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
             for _ in range(3)]
        )
        self.out = nn.Linear(hidden, 2)

    def time_features(self, t):
        half = self.hidden // 2
        freq = torch.exp(-math.log(1000.0) * torch.arange(half, device=t.device) / half)
        arg = t.float()[:, None] * freq[None]
        return torch.cat([arg.sin(), arg.cos()], dim=1)

    def forward(self, x, t, c):
        temb = self.time_mlp(self.time_features(t)) + self.class_emb(c)
        h = self.inp(x)
        for block in self.blocks:
            h = h + block(h + temb)
        return self.out(h)


def training_loss(model, sched, x0, c):
    t = torch.randint(0, T, (len(x0),))
    eps = torch.randn_like(x0)
    drop = torch.rand(len(x0)) < P_UNCOND
    c = torch.where(drop, torch.full_like(c, model.null_class), c)
    return F.mse_loss(model(sched.q_sample(x0, t, eps), t, c), eps)


@torch.no_grad()
def sample(model, sched, c, w):
    model.eval()
    x = torch.randn(len(c), 2)
    null = torch.full_like(c, model.null_class)
    for i in reversed(range(T)):
        t = torch.full((len(c),), i)
        e_cond = model(x, t, c)
        e_null = model(x, t, null)
        eps = e_null + w * (e_cond - e_null)
        a, ab = sched.alphas[i], sched.abar[i]
        x = (x - (1 - a) / (1 - ab).sqrt() * eps) / a.sqrt()
        if i > 0:
            x = x + sched.betas[i].sqrt() * torch.randn_like(x)
    return x


if __name__ == "__main__":
    torch.manual_seed(0)
    sched = Schedule(T)
    model = Denoiser(N_CLASSES)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    for step in range(1, 601):
        x0, c = sample_data(256)
        loss = training_loss(model, sched, x0, c)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 200 == 0:
            print(f"step {step}: loss {loss.item():.4f}")

    labels = torch.arange(N_CLASSES).repeat_interleave(50)
    pts = sample(model, sched, labels, GUIDANCE)
    angle = 2 * math.pi * labels / N_CLASSES
    centre = torch.stack([angle.cos(), angle.sin()], dim=1)
    print("mean distance to the own petal:", (pts - centre).norm(dim=1).mean().item())
