"""Forecast the water level at a gauge from the last two days of hourly values."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

HISTORY = 48
HORIZON = 6


def make_gauge(hours=1500):
    t = np.arange(hours)
    level = 1.8 * np.sin(2 * np.pi * t / 12.42) + 0.5 * np.sin(2 * np.pi * t / 24.0)
    level += 0.1 * np.random.default_rng(11).standard_normal(hours)
    return level


class GaugeWindows(Dataset):
    def __init__(self, series, mean, std):
        self.series = (series - mean) / std

    def __len__(self):
        return len(self.series) - HISTORY - HORIZON

    def __getitem__(self, i):
        past = self.series[i:i + HISTORY]
        future = self.series[i + HISTORY:i + HISTORY + HORIZON]
        return torch.from_numpy(past).unsqueeze(-1), torch.from_numpy(future)


class GRUForecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.inp = nn.Linear(1, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, HORIZON)

    def forward(self, past):
        h = torch.tanh(self.inp(past))
        _, last = self.gru(h)
        return self.out(last[-1])


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    losses = []
    with torch.set_grad_enabled(optimizer is not None):
        for past, future in loader:
            pred = model(past)
            loss = criterion(pred, future)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
    return float(np.mean(losses))


def main():
    torch.manual_seed(0)
    series = make_gauge()
    cut = int(len(series) * 0.8)
    mean, std = series[:cut].mean(), series[:cut].std()
    train = DataLoader(GaugeWindows(series[:cut], mean, std), batch_size=64, shuffle=True)
    test = DataLoader(GaugeWindows(series[cut:], mean, std), batch_size=128)

    model = GRUForecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    for epoch in range(3):
        tr = run_epoch(model, train, criterion, optimizer)
        te = run_epoch(model, test, criterion)
        print(f"{epoch}: train {tr:.4f}  test {te:.4f}  rmse {te ** 0.5 * std:.3f} m")


main()
