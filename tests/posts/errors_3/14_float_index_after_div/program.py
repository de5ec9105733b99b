import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
N_BINS = 24


class HourlyBias(nn.Module):
    """Demand forecast with a learnt offset for each hour of the day."""

    def __init__(self, n_features):
        super().__init__()
        self.trend = nn.Linear(n_features, 1)
        self.offset = nn.Parameter(torch.zeros(N_BINS))

    def forward(self, x, minute_of_day):
        hour = minute_of_day / 60
        return self.trend(x).squeeze(-1) + self.offset[hour]


rng = np.random.default_rng(1)
minutes = torch.from_numpy(rng.integers(0, 1440, size=1000))
weather = torch.from_numpy(rng.normal(size=(1000, 5)).astype(np.float32))
demand = torch.sin(minutes.float() / 1440 * 2 * torch.pi) + 0.3 * weather[:, 0]

model = HourlyBias(5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for epoch in range(10):
    perm = torch.randperm(1000)
    for idx in perm.split(100):
        pred = model(weather[idx], minutes[idx])
        loss = (pred - demand[idx]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch:2d}  mse {loss.item():.4f}")
