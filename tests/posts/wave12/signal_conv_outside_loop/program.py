import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

TIMESTEPS = 200
BATCH = 16
STEPS = 20


def load_signals(n=128, channels=12, length=64):
    rng = np.random.default_rng(1)
    t = np.linspace(0, 1, length)
    out = np.zeros((n, channels, length), dtype=np.float32)
    for i in range(n):
        freq = rng.uniform(1, 8, size=(channels, 1))
        phase = rng.uniform(0, 2 * np.pi, size=(channels, 1))
        out[i] = np.sin(2 * np.pi * freq * t + phase)
    return torch.from_numpy(out)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.SiLU(), nn.Linear(dim * 2, dim))

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / (half - 1))
        emb = t.float()[:, None] * freqs[None, :]
        return self.mlp(torch.cat([emb.sin(), emb.cos()], dim=-1))


class TinyUnet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.time = TimeEmbedding(dim)
        self.inp = nn.Conv2d(1, dim, 3, padding=1)
        self.down = nn.Conv2d(dim, dim * 2, 4, stride=2, padding=1)
        self.mid = nn.Conv2d(dim * 2, dim * 2, 3, padding=1)
        self.up = nn.ConvTranspose2d(dim * 2, dim, 4, stride=2, padding=1)
        self.out = nn.Conv2d(dim * 2, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.inp(x)) + self.time(t)[:, :, None, None]
        d = F.silu(self.down(h))
        d = F.silu(self.mid(d))
        u = F.silu(self.up(d))
        return self.out(torch.cat([h, u], dim=1))


class Diffusion(nn.Module):
    def __init__(self, model, timesteps):
        super().__init__()
        self.model = model
        self.timesteps = timesteps
        betas = torch.linspace(1e-4, 0.02, timesteps)
        alphas_bar = torch.cumprod(1 - betas, dim=0)
        self.register_buffer('sqrt_ab', alphas_bar.sqrt())
        self.register_buffer('sqrt_1mab', (1 - alphas_bar).sqrt())

    def forward(self, x0):
        t = torch.randint(0, self.timesteps, (x0.shape[0],), device=x0.device)
        noise = torch.randn_like(x0)
        a = self.sqrt_ab[t][:, None, None, None]
        b = self.sqrt_1mab[t][:, None, None, None]
        x_t = a * x0 + b * noise
        return F.l1_loss(self.model(x_t, t), noise)


torch.manual_seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

signals = load_signals().to(device)
conv1d = nn.Conv1d(12, 32, kernel_size=4, stride=2, padding=1).to(device)
diffusion = Diffusion(TinyUnet(), TIMESTEPS).to(device)
optimizer = torch.optim.Adam(diffusion.parameters(), lr=2e-4)

images = torch.tanh(conv1d(signals)).unsqueeze(1)

for step in range(STEPS):
    idx = torch.randint(0, signals.shape[0], (BATCH,), device=device)
    batch = images[idx]
    loss = diffusion(batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(diffusion.parameters(), 1.0)
    optimizer.step()
    if step % 5 == 0:
        print(f'step {step} loss {loss.item():.4f}')
