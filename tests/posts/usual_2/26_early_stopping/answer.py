import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TemperatureNet(nn.Module):
    def __init__(self, lags):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(lags, 128), nn.ReLU(),
            nn.Linear(128, 128), nn.ReLU(),
            nn.Linear(128, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def make_series(n=400, lags=24):
    rng = np.random.default_rng(0)
    hours = np.arange(n)
    temp = np.sin(hours / 24 * 2 * np.pi) + rng.normal(0, 0.4, n)
    x = np.stack([temp[i : i + lags] for i in range(n - lags)])
    y = temp[lags:]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def evaluate(model, loader, loss_fn):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += loss_fn(model(x), y).item() * len(y)
            n += len(y)
    return total / n


def fit(model, train_loader, val_loader, max_epochs=60, patience=8):
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    best_loss, best_epoch, best_state = float("inf"), 0, None
    for epoch in range(max_epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
        val_loss = evaluate(model, val_loader, loss_fn)
        if val_loss < best_loss:
            best_loss, best_epoch = val_loss, epoch
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
        elif epoch - best_epoch >= patience:
            print(f"stopped at epoch {epoch}")
            break
    model.load_state_dict(best_state)
    print(f"best epoch {best_epoch}, best val loss {best_loss:.4f}")
    return model


torch.manual_seed(0)
x, y = make_series()
train_loader = DataLoader(TensorDataset(x[:250], y[:250]), batch_size=25, shuffle=True)
val_loader = DataLoader(TensorDataset(x[250:], y[250:]), batch_size=64)
model = fit(TemperatureNet(24), train_loader, val_loader)
print(f"val loss of the returned model {evaluate(model, val_loader, nn.MSELoss()):.4f}")
