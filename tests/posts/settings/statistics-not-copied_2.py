# line 25: the momentum generator is updated with parameters only, and its BatchNorm1d keeps mean 0 and variance 1
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(65)
torch.manual_seed(65)


def generator(noise=4, out=2):
    return nn.Sequential(
        nn.Linear(noise, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(),
        nn.Linear(32, out),
    )


def real(n):
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = np.stack([3 + np.cos(angle), 1 + np.sin(angle)], 1)
    return torch.tensor(ring, dtype=torch.float32)


def blend(target, source, m=0.95):
    with torch.no_grad():
        torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), 1 - m)


g, d = generator(), nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_ema = generator()
g_ema.load_state_dict(g.state_dict())
g_ema.eval()
opt_g = torch.optim.Adam(g.parameters(), lr=2e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(d.parameters(), lr=2e-3, betas=(0.5, 0.99))
for step in range(120):
    fake = g(torch.randn(48, 4))
    loss_d = nn.functional.softplus(-d(real(48))).mean() + nn.functional.softplus(d(fake.detach())).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = nn.functional.softplus(-d(fake)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    blend(g_ema, g)
with torch.no_grad():
    print("centre of the samples", g_ema(torch.randn(500, 4)).mean(0).tolist())
