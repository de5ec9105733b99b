import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

# %% hourly bike demand, skewed noise
rng = np.random.default_rng(42)
idx = pd.date_range("2023-01-01", periods=24 * 150, freq="h")
base = 60 + 35 * np.sin(2 * np.pi * (idx.hour - 7) / 24) - 12 * (idx.dayofweek >= 5)
df = pd.DataFrame({"demand": base + rng.gamma(2.0, 9.0, len(idx)) - 18}, index=idx)
df["hour_sin"] = np.sin(2 * np.pi * df.index.hour / 24)
df["hour_cos"] = np.cos(2 * np.pi * df.index.hour / 24)
df["weekend"] = (df.index.dayofweek >= 5).astype(float)

n_train = 24 * 120
mu, sd = df["demand"][:n_train].mean(), df["demand"][:n_train].std()
df["demand_z"] = (df["demand"] - mu) / sd

# %% windows: 48 h in, 6 h out
LOOKBACK, HORIZON = 48, 6
QUANTILES = [0.1, 0.5, 0.9]
feats = df[["demand_z", "hour_sin", "hour_cos", "weekend"]].to_numpy(np.float32)


def windows(arr, start, stop):
    xs, ys = [], []
    for t in range(start + LOOKBACK, stop - HORIZON + 1):
        xs.append(arr[t - LOOKBACK:t])
        ys.append(arr[t:t + HORIZON, 0])
    return torch.from_numpy(np.stack(xs)), torch.from_numpy(np.stack(ys))


x_tr, y_tr = windows(feats, 0, n_train)
x_te, y_te = windows(feats, n_train, len(feats))
print(x_tr.shape, y_tr.shape, x_te.shape)


# %% model: GRU -> horizon x quantiles
class QuantileGRU(nn.Module):
    def __init__(self, n_feat, hidden=32):
        super().__init__()
        self.gru = nn.GRU(n_feat, hidden, batch_first=True)
        self.head = nn.Linear(hidden, HORIZON * len(QUANTILES))

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1]).view(-1, HORIZON, len(QUANTILES))


class PinballLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.register_buffer("q", torch.tensor(quantiles))

    def forward(self, pred, target):
        err = target.unsqueeze(-1) - pred
        return torch.maximum(self.q * err, (self.q - 1) * err).mean()


torch.manual_seed(1)
model = QuantileGRU(feats.shape[1])
criterion = PinballLoss(QUANTILES)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=128, shuffle=True)

for epoch in range(6):
    model.train()
    tot = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
        tot += loss.item() * len(xb)
    print(f"epoch {epoch + 1}  pinball {tot / len(x_tr):.4f}")

# %% test report
model.eval()
with torch.no_grad():
    pred = model(x_te)
for k, q in enumerate(QUANTILES):
    below = (y_te <= pred[..., k]).float().mean().item()
    print(f"P{int(q * 100):02d}: share of actual demand below the forecast = {below:.2f}")
last = pred[-1] * sd + mu
print(pd.DataFrame(last.numpy().round(1), columns=[f"P{int(q * 100)}" for q in QUANTILES], index=df.index[-HORIZON:]))
