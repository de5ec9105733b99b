import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def timestep_embedding(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([args.cos(), args.sin()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, c_in, c_out, t_dim):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, c_in)
        self.conv1 = nn.Conv2d(c_in, c_out, 3, padding=1)
        self.time = nn.Linear(t_dim, c_out)
        self.norm2 = nn.GroupNorm(4, c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1)
        self.skip = nn.Conv2d(c_in, c_out, 1) if c_in != c_out else nn.Identity()

    def forward(self, x, t_emb):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(t_emb)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class Denoiser(nn.Module):
    def __init__(self, channels=16, t_dim=32, depth=3):
        super().__init__()
        self.t_dim = t_dim
        self.time_mlp = nn.Sequential(nn.Linear(t_dim, t_dim), nn.SiLU(), nn.Linear(t_dim, t_dim))
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(channels, channels, t_dim) for _ in range(depth)])
        self.head = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x, t):
        t_emb = self.time_mlp(timestep_embedding(t, self.t_dim))
        h = self.stem(x)
        for block in self.blocks:
            h = block(h, t_emb)
        return self.head(F.silu(h))


T = 100
betas = torch.linspace(1e-4, 0.02, T)
alphas_bar = torch.cumprod(1 - betas, dim=0)

torch.manual_seed(0)
mels = torch.rand(64, 1, 24, 32) * 2 - 1
loader = DataLoader(TensorDataset(mels), batch_size=16, shuffle=True)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)

for epoch in range(2):
    losses = []
    for (x0,) in loader:
        t = torch.randint(0, T, (x0.size(0),))
        noise = torch.randn_like(x0)
        ab = alphas_bar[t].view(-1, 1, 1, 1)
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        loss = F.mse_loss(model(xt, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")
