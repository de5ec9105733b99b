import argparse
import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class PMWindows(Dataset):
    """Sliding windows over an hourly PM2.5 record with three covariates."""

    def __init__(self, series, window):
        self.series = torch.tensor(series, dtype=torch.float32)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        x = self.series[i:i + self.window]
        y = self.series[i + self.window, 0]
        return x, y


class Forecaster(nn.Module):
    def __init__(self, n_features, hidden, layers):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.lstm = nn.LSTM(n_features, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def init_hidden(self, batch_size):
        h = torch.zeros(self.layers, batch_size, self.hidden)
        c = torch.zeros(self.layers, batch_size, self.hidden)
        return h, c

    def forward(self, x, state):
        out, _ = self.lstm(x, state)
        return self.head(out[:, -1]).squeeze(-1)


def synth(hours, n_train, rng):
    t = np.arange(hours)
    wind = np.abs(rng.normal(3, 1, hours))
    temp = 12 + 8 * np.sin(2 * math.pi * t / 24) + rng.normal(0, 1, hours)
    hum = 60 + 10 * np.cos(2 * math.pi * t / 24)
    pm = 40 + 15 * np.sin(2 * math.pi * t / 24 + 1) - 2 * wind + rng.normal(0, 1.5, hours)
    data = np.stack([pm, wind, temp, hum], axis=1)
    mean, std = data[:n_train].mean(0), data[:n_train].std(0)
    return (data - mean) / std


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--window", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()

    torch.manual_seed(0)
    series = synth(900, 700, np.random.default_rng(0))
    train_set = PMWindows(series[:700], args.window)
    test_set = PMWindows(series[700:], args.window)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=args.batch_size)

    model = Forecaster(4, args.hidden, layers=2)
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            state = model.init_hidden(x.size(0))
            loss = loss_fn(model(x, state), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        model.eval()
        sse, count = 0.0, 0
        with torch.no_grad():
            for x, y in test_loader:
                state = model.init_hidden(x.size(0))
                sse += loss_fn(model(x, state), y).item() * len(y)
                count += len(y)
        print(f"epoch {epoch}: test rmse {math.sqrt(sse / count):.3f}")


if __name__ == "__main__":
    main()
