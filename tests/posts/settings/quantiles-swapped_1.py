# line 13: the error of the pinball loss is the prediction minus the target, so the quantiles are swapped
import numpy as np
import torch
from torch import nn


class PinballLoss(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.register_buffer("levels", torch.tensor(levels))

    def forward(self, forecast, demand):
        gap = forecast - demand.unsqueeze(-1)
        slope = torch.where(gap >= 0, self.levels, self.levels - 1)
        return (slope * gap).mean()


class DemandModel(nn.Module):
    def __init__(self, n_quantiles):
        super().__init__()
        self.weekday = nn.Embedding(7, 4)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, n_quantiles))

    def forward(self, day, extra):
        return self.net(torch.cat([self.weekday(day), extra], dim=-1))


torch.manual_seed(20)
rng = np.random.default_rng(20)
day = torch.from_numpy(rng.integers(0, 7, 600))
extra = torch.from_numpy(rng.normal(size=(600, 2)).astype(np.float32))
demand = day.float() * 0.3 + extra[:, 0] + torch.from_numpy(rng.gamma(2, 0.5, 600).astype(np.float32))

levels = [0.1, 0.5, 0.9]
model, loss_fn = DemandModel(len(levels)), PinballLoss(levels)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(12):
    for rows in torch.randperm(500).split(50):
        opt.zero_grad()
        loss_fn(model(day[rows], extra[rows]), demand[rows]).backward()
        opt.step()
model.eval()
with torch.no_grad():
    band = model(day[500:], extra[500:])
for k, level in enumerate(levels):
    print(level, "covers", (demand[500:] <= band[:, k]).float().mean().item())
