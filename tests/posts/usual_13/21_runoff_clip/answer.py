"""Rainfall-runoff LSTM for one catchment (after Kratzert et al.), synthetic forcing."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEQ = 60
MAX_NORM = 0.1


def bucket_model(n_days, seed):
    rng = np.random.default_rng(seed)
    wet = rng.random(n_days) < 0.3
    rain = np.where(wet, rng.gamma(0.6, 14.0, n_days), 0.0)
    temp = 10 - 9 * np.cos(2 * np.pi * np.arange(n_days) / 365) + rng.normal(0, 2, n_days)
    store, flow = 20.0, np.zeros(n_days)
    for d in range(n_days):
        store = max(store + rain[d] - 0.15 * max(temp[d], 0), 0.0)
        flow[d] = 0.02 * store + 0.25 * max(store - 60, 0)
        store -= flow[d]
    return np.stack([rain, temp], axis=1).astype(np.float32), flow.astype(np.float32)


def windows(forcing, flow):
    x = np.lib.stride_tricks.sliding_window_view(forcing, SEQ, axis=0).transpose(0, 2, 1).copy()
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(flow[SEQ - 1:].copy()))


class RunoffLSTM(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).squeeze(-1)


def nse(model, loader):
    model.eval()
    sim, obs = [], []
    with torch.no_grad():
        for x, q in loader:
            sim.append(model(x))
            obs.append(q)
    sim, obs = torch.cat(sim), torch.cat(obs)
    return (1 - (sim - obs).pow(2).sum() / (obs - obs.mean()).pow(2).sum()).item()


torch.manual_seed(0)
forcing, flow = bucket_model(1500, 0)
split = 1100
f_mean, f_std = forcing[:split].mean(0), forcing[:split].std(0)
q_mean, q_std = flow[:split].mean(), flow[:split].std()
forcing, flow = (forcing - f_mean) / f_std, (flow - q_mean) / q_std

train_loader = DataLoader(windows(forcing[:split], flow[:split]), batch_size=32, shuffle=True)
test_loader = DataLoader(windows(forcing[split:], flow[split:]), batch_size=128)

model = RunoffLSTM()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
loss_fn = nn.MSELoss()

for epoch in range(1, 9):
    model.train()
    total, n = 0.0, 0
    for x, q in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), q)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        total += loss.item() * len(q)
        n += len(q)
    print(f"epoch {epoch}: train loss {total / n:.3f}  test NSE {nse(model, test_loader):.3f}")
