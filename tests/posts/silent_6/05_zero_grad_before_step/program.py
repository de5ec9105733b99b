import argparse
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def load_series(length, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    daily = np.sin(2 * math.pi * t / 24)
    weekly = 0.6 * np.sin(2 * math.pi * t / 168)
    return (daily + weekly + 0.1 * rng.standard_normal(length)).astype(np.float32)


class WindowDataset(Dataset):
    def __init__(self, series, window, horizon):
        self.series = torch.from_numpy(series)
        self.window = window
        self.horizon = horizon

    def __len__(self):
        return len(self.series) - self.window - self.horizon + 1

    def __getitem__(self, i):
        past = self.series[i:i + self.window]
        future = self.series[i + self.window:i + self.window + self.horizon]
        return past.unsqueeze(0), future


class Forecaster(nn.Module):
    def __init__(self, window, horizon, channels=16):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, 3, padding=1)
        self.conv2 = nn.Conv1d(channels, channels, 3, padding=2, dilation=2)
        self.head = nn.Linear(channels * window, horizon)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.head(x.flatten(1))


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total, n = 0.0, 0
    with torch.set_grad_enabled(training):
        for past, future in loader:
            loss = criterion(model(past), future)
            if training:
                loss.backward()
                optimizer.zero_grad()
                optimizer.step()
            total += loss.item() * past.size(0)
            n += past.size(0)
    return total / n


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--window", type=int, default=48)
    p.add_argument("--horizon", type=int, default=6)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(42)
    series = load_series(2200, seed=1)
    train_ds = WindowDataset(series[:1700], args.window, args.horizon)
    val_ds = WindowDataset(series[1700:], args.window, args.horizon)
    train_loader = DataLoader(train_ds, batch_size=64, shuffle=True)
    val_loader = DataLoader(val_ds, batch_size=128)
    model = Forecaster(args.window, args.horizon)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        train_loss = run_epoch(model, train_loader, criterion, optimizer)
        val_loss = run_epoch(model, val_loader, criterion)
        print(f"epoch {epoch + 1}: train {train_loss:.4f} val {val_loss:.4f}")


if __name__ == "__main__":
    main()
