import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
hours = np.arange(24 * 60)
load = 50 + 10 * np.sin(2 * np.pi * hours / 24) + rng.normal(0, 1.0, len(hours))
load = (load - load.mean()) / load.std()

WINDOW, HORIZON = 48, 6


def sliding_windows(series, window, horizon):
    inputs, targets = [], []
    for i in range(len(series) - window):
        inputs.append(series[i : i + window])
    for i in range(window, len(series) - horizon + 1):
        targets.append(series[i : i + horizon])
    return np.stack(inputs), np.stack(targets)


inputs, targets = sliding_windows(load.astype(np.float32), WINDOW, HORIZON)
split = int(0.8 * len(inputs))
x_train, x_val = torch.from_numpy(inputs[:split]), torch.from_numpy(inputs[split:])
y_train, y_val = torch.from_numpy(targets[:split]), torch.from_numpy(targets[split:])

train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=256)

model = nn.Sequential(nn.Linear(WINDOW, 64), nn.ReLU(), nn.Linear(64, HORIZON))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
mse = nn.MSELoss()

for epoch in range(8):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        mse(model(xb), yb).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = sum(mse(model(a), b).item() for a, b in val_loader) / len(val_loader)
    print(f"epoch {epoch} val mse {val:.4f}")
