"""Hourly power load of a small town, forecast of the next hour with a GRU."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--window", type=int, default=24)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--layers", type=int, default=1)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=3e-3)
    return p.parse_args()


def load_series(hours=24 * 60):
    rng = np.random.default_rng(11)
    t = np.arange(hours)
    daily = 30 * np.sin(2 * np.pi * (t - 7) / 24)
    weekly = 10 * np.sin(2 * np.pi * t / (24 * 7))
    return (200 + daily + weekly + rng.normal(0, 3, hours)).astype(np.float32)


def make_windows(series, window):
    xs, ys = [], []
    for i in range(len(series) - window):
        xs.append(series[i:i + window])
        ys.append(series[i + window])
    return torch.tensor(np.array(xs)), torch.tensor(np.array(ys))


class LoadGRU(nn.Module):
    def __init__(self, hidden, layers, batch_size):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.batch_size = batch_size
        self.gru = nn.GRU(1, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h0 = torch.zeros(self.layers, self.batch_size, self.hidden)
        y, _ = self.gru(x, h0)
        return self.out(y[:, -1]).squeeze(-1)


def main():
    args = parse_args()
    torch.manual_seed(0)

    series = load_series()
    n_train = int(len(series) * 0.8)
    mean, std = series[:n_train].mean(), series[:n_train].std()
    scaled = (series - mean) / std

    x_train, y_train = make_windows(scaled[:n_train], args.window)
    x_test, y_test = make_windows(scaled[n_train:], args.window)
    train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=args.batch_size)

    model = LoadGRU(args.hidden, args.layers, args.batch_size)
    loss_fn = nn.MSELoss()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch + 1}/{args.epochs} loss {total / len(train_loader):.4f}")

    model.eval()
    preds, trues = [], []
    for x, y in test_loader:
        preds.append(model(x).numpy())
        trues.append(y.numpy())
    preds = np.concatenate(preds) * std + mean
    trues = np.concatenate(trues) * std + mean
    mape = np.mean(np.abs(preds - trues) / trues) * 100
    print(f"test MAPE {mape:.2f} %")


if __name__ == "__main__":
    main()
