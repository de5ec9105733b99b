#!/usr/bin/env python
# 2-D diffusion on the two moons, for the reading group

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rs = np.random.RandomState(0)


def two_moons(n):
    a = rs.uniform(0, np.pi, n)
    up = rs.rand(n) < 0.5
    x = np.where(up, np.cos(a), 1 - np.cos(a))
    y = np.where(up, np.sin(a), 0.5 - np.sin(a))
    pts = np.stack([x, y], 1) + rs.normal(0, 0.04, (n, 2))
    return ((pts - [0.5, 0.25]) / [0.87, 0.50]).astype("float32")


class NoiseSchedule:
    def __init__(self, num_steps=100, beta_min=1e-3, beta_max=0.08):
        self.T = num_steps
        self.beta = torch.linspace(beta_min, beta_max, num_steps)
        self.alpha = 1 - self.beta
        self.alpha_bar = torch.cumprod(self.alpha, dim=0)

    def add_noise(self, x0, t, eps):
        a = self.alpha[t].unsqueeze(1)
        return a.sqrt() * x0 + (1 - a).sqrt() * eps

    def step(self, xt, t, eps_hat):
        coef = self.beta[t] / (1 - self.alpha_bar[t]).sqrt()
        mean = (xt - coef * eps_hat) / self.alpha[t].sqrt()
        if t == 0:
            return mean
        return mean + self.beta[t].sqrt() * torch.randn_like(xt)


class Denoiser(nn.Module):
    def __init__(self, T, hidden=128, emb=32):
        super().__init__()
        self.t_emb = nn.Embedding(T, emb)
        self.net = nn.Sequential(
            nn.Linear(2 + emb, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.t_emb(t)], dim=1))


schedule = NoiseSchedule()
data = torch.from_numpy(two_moons(4000))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=256, shuffle=True)

model = Denoiser(schedule.T)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(40):
    total = 0.0
    for (x0,) in loader:
        t = torch.randint(0, schedule.T, (x0.shape[0],))
        eps = torch.randn_like(x0)
        xt = schedule.add_noise(x0, t, eps)
        loss = ((model(xt, t) - eps) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * x0.shape[0]
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:3d}  mse {total / len(data):.4f}")


@torch.no_grad()
def sample(n):
    model.eval()
    x = torch.randn(n, 2)
    for t in range(schedule.T - 1, -1, -1):
        eps_hat = model(x, torch.full((n,), t))
        x = schedule.step(x, t, eps_hat)
    return x


gen = sample(1000)
dist = torch.cdist(gen, data).min(dim=1).values
print("data std     ", data.std(0).tolist())
print("generated std", gen.std(0).tolist())
print("mean distance of a sample to the nearest data point: %.3f" % dist.mean())
