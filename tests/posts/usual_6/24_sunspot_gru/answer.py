"""Monthly sunspot-like series: next-month forecast with a GRU, compared with persistence."""
import numpy as np
import torch
from torch import nn

LOOKBACK = 36
HIDDEN = 32
EPOCHS = 12
BATCH = 64


def sunspots(months=1500, seed=4):
    rng = np.random.default_rng(seed)
    t = np.arange(months)
    amp = 60 + 25 * np.sin(2 * np.pi * t / 900)
    cycle = amp * (1 + np.sin(2 * np.pi * t / 132))
    return np.maximum(cycle + rng.normal(0, 14, months), 0).astype(np.float32)


def make_windows(series, lookback):
    xs, ys = [], []
    for end in range(lookback, len(series)):
        xs.append(series[end - lookback:end])
        ys.append(series[end])
    x = torch.from_numpy(np.stack(xs)).unsqueeze(-1)
    y = torch.from_numpy(np.array(ys)).unsqueeze(-1)
    return x, y


class Forecaster(nn.Module):
    def __init__(self, hidden=HIDDEN):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.fc(h[-1])


series = sunspots()
n_train = 1200
mean, std = series[:n_train].mean(), series[:n_train].std()
scaled = (series - mean) / std

x_train, y_train = make_windows(scaled[:n_train], LOOKBACK)
x_test, y_test = make_windows(scaled[n_train - LOOKBACK:], LOOKBACK)
print("train", tuple(x_train.shape), "test", tuple(x_test.shape))

torch.manual_seed(0)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()

for epoch in range(EPOCHS):
    model.train()
    perm = torch.randperm(len(x_train))
    total = 0.0
    for idx in perm.split(BATCH):
        pred = model(x_train[idx])
        loss = loss_fn(pred, y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: mse {total / len(x_train):.5f}")

model.eval()
with torch.no_grad():
    pred = model(x_test)
rmse = ((pred - y_test) ** 2).mean().sqrt().item() * float(std)

months = series[n_train:]
persistence = np.sqrt(np.mean((months - series[n_train - 1:-1]) ** 2))
print(f"test RMSE of the GRU  {rmse:.2f}")
print(f"test RMSE persistence {persistence:.2f}")

with torch.no_grad():
    last = torch.from_numpy(scaled[-LOOKBACK:]).view(1, LOOKBACK, 1)
    nxt = model(last).item() * float(std) + float(mean)
print(f"forecast for next month: {nxt:.1f}")
