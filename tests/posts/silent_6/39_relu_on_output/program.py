import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def market(days, seed):
    """Daily returns with momentum and an effect of two indicators."""
    rng = np.random.default_rng(seed)
    rate = np.cumsum(rng.normal(0, 0.05, days))
    mood = rng.normal(0, 1, days)
    ret = np.zeros(days)
    for t in range(2, days):
        ret[t] = 0.4 * ret[t - 1] - 0.3 * ret[t - 2] + 0.5 * mood[t - 1] - 0.8 * (rate[t - 1] - rate[t - 2])
        ret[t] += rng.normal(0, 0.2)
    return pd.DataFrame({"ret": ret, "rate": rate, "mood": mood})


def add_lags(frame, lags):
    out = pd.DataFrame({"target": frame["ret"]})
    for k in range(1, lags + 1):
        out[f"ret_{k}"] = frame["ret"].shift(k)
        out[f"mood_{k}"] = frame["mood"].shift(k)
        out[f"drate_{k}"] = frame["rate"].diff().shift(k)
    return out.dropna()


class ReturnNet(nn.Module):
    def __init__(self, n_in, hidden=(48, 24)):
        super().__init__()
        sizes = [n_in, *hidden, 1]
        blocks = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            blocks.append(nn.Linear(a, b))
            blocks.append(nn.ReLU())
        self.net = nn.Sequential(*blocks)

    def forward(self, x):
        return self.net(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lags", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    table = add_lags(market(2000, seed=4), args.lags)
    data = torch.tensor(table.to_numpy(), dtype=torch.float32)
    x, y = data[:, 1:], data[:, :1]
    cut = 1500
    loader = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=50, shuffle=True)

    model = ReturnNet(x.size(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.MSELoss()
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(xb)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:2d} mse {total / cut:.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(x[cut:])
    true = y[cut:]
    print(f"test mse {criterion(pred, true).item():.4f} (variance {true.var().item():.4f})")
    print(f"lowest prediction {pred.min().item():.3f}, lowest return {true.min().item():.3f}")


if __name__ == "__main__":
    main()
