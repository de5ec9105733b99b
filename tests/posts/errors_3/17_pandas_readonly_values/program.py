import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(11)
idx = pd.date_range("2024-01-01", periods=600, freq="h")
load = 50 + 10 * np.sin(np.arange(600) * 2 * np.pi / 24) + rng.normal(0, 1, 600)
df = pd.DataFrame({"load": load, "temp": rng.normal(12, 4, 600)}, index=idx)
df.iloc[rng.integers(0, 600, 12), 0] = 900.0


def clean(frame, limit=200.0):
    values = frame["load"].to_numpy()
    spikes = values > limit
    values[spikes] = np.median(values[~spikes])
    return values, int(spikes.sum())


def windows(series, width):
    s = torch.tensor(series, dtype=torch.float32)
    s = (s - s.mean()) / s.std()
    w = s.unfold(0, width + 1, 1)
    return w[:, :-1], w[:, -1:]


series, n_spikes = clean(df)
print(f"replaced {n_spikes} spikes")
x, y = windows(series, 24)

model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"mse {loss.item():.4f}")
