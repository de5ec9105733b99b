import numpy as np
import pandas as pd
import torch
import torch.nn as nn

WINDOW = 24


def load_demand(hours=1500, seed=5):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    daily = 10 * np.sin(2 * np.pi * t / 24)
    weekly = 4 * np.sin(2 * np.pi * t / 168)
    shocks = np.zeros(hours)
    for i in range(1, hours):
        shocks[i] = 0.7 * shocks[i - 1] + rng.normal(0, 2.0)
    index = pd.date_range("2024-01-01", periods=hours, freq="h")
    return pd.Series(50 + daily + weekly + shocks, index=index, name="megawatt")


def make_windows(values, window):
    xs, ys = [], []
    for i in range(len(values) - window):
        xs.append(values[i:i + window])
        ys.append(values[i + window - 1])
    x = torch.tensor(np.array(xs), dtype=torch.float32).unsqueeze(-1)
    y = torch.tensor(np.array(ys), dtype=torch.float32)
    return x, y


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1]).squeeze(-1)


torch.manual_seed(0)
demand = load_demand()
cut = 1200
mean, std = demand[:cut].mean(), demand[:cut].std()
scaled = ((demand - mean) / std).to_numpy()

train_x, train_y = make_windows(scaled[:cut], WINDOW)
valid_x, valid_y = make_windows(scaled[cut:], WINDOW)

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    model.train()
    order = torch.randperm(len(train_x))
    for batch in order.split(64):
        loss = nn.functional.mse_loss(model(train_x[batch]), train_y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        mae = (model(valid_x) - valid_y).abs().mean().item() * std
    print(f"epoch {epoch + 1:2d}  valid MAE {mae:.3f} MW")

# roll the model forward through the last two days
model.eval()
history = list(scaled[-48 - WINDOW:-48])
with torch.no_grad():
    for _ in range(48):
        recent = torch.tensor(history[-WINDOW:], dtype=torch.float32).view(1, WINDOW, 1)
        history.append(model(recent).item())
forecast = np.array(history[WINDOW:]) * std + mean
print(f"48 h ahead: MAE {np.abs(forecast - demand.to_numpy()[-48:]).mean():.2f} MW, "
      f"spread of the forecast {forecast.std():.2f} MW (true {demand[-48:].std():.2f})")
