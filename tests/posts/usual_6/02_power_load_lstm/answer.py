"""Hourly electricity load: one-step-ahead forecast with an LSTM."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def make_load(hours, seed=0):
    rng = np.random.RandomState(seed)
    t = np.arange(hours)
    daily = 8.0 * np.sin(2 * np.pi * t / 24)
    weekly = 3.0 * np.sin(2 * np.pi * t / (24 * 7))
    return (50 + daily + weekly + rng.normal(0, 1.0, hours)).astype(np.float32)


class WindowDataset(Dataset):
    def __init__(self, series, window):
        self.series = torch.from_numpy(series)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        x = self.series[i:i + self.window].unsqueeze(-1)
        y = self.series[i + self.window:i + self.window + 1]
        return x, y


class LoadForecaster(nn.Module):
    def __init__(self, hidden_size=32, num_layers=2):
        super().__init__()
        self.lstm = nn.LSTM(input_size=1, hidden_size=hidden_size, num_layers=num_layers,
                            batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1, :])


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * x.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader, scale):
    model.eval()
    err = 0.0
    for x, y in loader:
        err += (model(x) - y).abs().sum().item() * scale
    return err / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", type=int, default=48)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    series = make_load(24 * 60)
    cut = int(len(series) * 0.8)
    mu, sigma = series[:cut].mean(), series[:cut].std()
    series = (series - mu) / sigma

    train_loader = DataLoader(WindowDataset(series[:cut], args.window), args.batch_size, shuffle=True)
    test_loader = DataLoader(WindowDataset(series[cut:], args.window), args.batch_size)

    model = LoadForecaster()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        mae = evaluate(model, test_loader, float(sigma))
        print(f"[{epoch}/{args.epochs}] mse={loss:.4f} test MAE={mae:.3f} MW")


if __name__ == "__main__":
    main()
