import numpy as np
import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, window=24, horizon=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(window, 64), nn.ReLU(), nn.Linear(64, horizon))

    def forward(self, x):
        return self.net(x)


def make_windows(series, window=24, horizon=6):
    X, Y = [], []
    for i in range(len(series) - window - horizon):
        X.append(series[i:i + window])
        Y.append(series[i + window:i + window + horizon])
    return torch.tensor(np.array(X), dtype=torch.float32), torch.tensor(np.array(Y), dtype=torch.float32)


t = np.arange(600)
series = np.sin(t / 10) + 0.1 * np.random.randn(600)
X, Y = make_windows(series)
X_train, Y_train = X[:450], Y[:450]
X_val, Y_val = X[480:], Y[480:]

path = "best_forecaster.pt"
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.MSELoss()
best_loss = float("inf")

for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    loss = loss_fn(model(X_train), Y_train)
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        val_loss = loss_fn(model(X_val), Y_val).item()
    if val_loss < best_loss:
        best_loss = val_loss
        torch.save(model, path)

best = torch.load(path)
best.eval()
with torch.no_grad():
    print("val mse of best model:", loss_fn(best(X_val), Y_val).item())
