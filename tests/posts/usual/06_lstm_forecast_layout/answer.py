import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
torch.manual_seed(0)

# hourly load curve: daily cycle + noise
t = np.arange(2000)
series = np.sin(2 * np.pi * t / 24) + 0.3 * np.sin(2 * np.pi * t / 168) + 0.05 * np.random.randn(len(t))

LOOKBACK = 48


def make_windows(values, lookback):
    xs, ys = [], []
    for i in range(len(values) - lookback):
        xs.append(values[i:i + lookback])
        ys.append(values[i + lookback])
    xs = np.array(xs, dtype=np.float32)[..., None]
    ys = np.array(ys, dtype=np.float32)[..., None]
    return torch.from_numpy(xs), torch.from_numpy(ys)


X, Y = make_windows(series, LOOKBACK)
split = int(0.8 * len(X))
train_loader = DataLoader(TensorDataset(X[:split], Y[:split]), batch_size=64, shuffle=True)
X_test, Y_test = X[split:], Y[split:]
print("one batch:", next(iter(train_loader))[0].shape)


class LoadForecaster(nn.Module):
    def __init__(self, n_features=1, hidden=32, layers=1):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.head(out[:, -1, :])


model = LoadForecaster()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    losses = []
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        test = loss_fn(model(X_test), Y_test).item()
    print(f"epoch {epoch}: train mse {np.mean(losses):.4f}  test mse {test:.4f}")
