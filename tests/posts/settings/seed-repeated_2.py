# line 25: the noise function seeds torch anew in each training step, so the same noise and time steps come every time
import math

import torch
from torch import nn

STEPS = 40
SEED = 77
torch.manual_seed(SEED)
betas = torch.linspace(1e-3, 0.1, STEPS)
kept = torch.cumprod(1 - betas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(18, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def corrupt(x):
    torch.manual_seed(SEED)
    t = torch.randint(STEPS, (len(x),))
    noise = torch.randn_like(x)
    share = kept[t].unsqueeze(1)
    return share.sqrt() * x + (1 - share).sqrt() * noise, t, noise


def spiral(n):
    angle = torch.linspace(0, 3 * math.pi, n)
    return torch.stack([angle * angle.cos(), angle * angle.sin()], dim=1) / 5


points = spiral(320)
model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    total = 0.0
    for rows in torch.randperm(320).split(64):
        noisy, t, noise = corrupt(points[rows])
        loss = nn.functional.mse_loss(model(noisy, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(rows)
    print(epoch, total / 320)
