"""Forecast the next value of a stream read from text files."""
import glob
import os
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

random.seed(4)
torch.manual_seed(4)
WINDOW = 12


def write_files(folder, count=4):
    os.makedirs(folder, exist_ok=True)
    for k in range(count):
        value, drift = random.uniform(-1, 1), 0.0
        with open(os.path.join(folder, f"part{k}.txt"), "w") as f:
            for _ in range(130 + 7 * k):
                drift = 0.9 * drift + random.gauss(0, 0.1)
                value = 0.95 * value + drift
                f.write(f"{value:.5f}\n")


class Readings(IterableDataset):
    def __init__(self, folder):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.txt")))

    def __iter__(self):
        for path in self.paths:
            window = []
            with open(path) as f:
                for line in f:
                    window.append(float(line))
                    if len(window) > WINDOW:
                        yield torch.tensor(window[:-1]), torch.tensor(window[-1:])
                        window.pop(0)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.lstm(x.unsqueeze(-1))
        return self.out(h[:, -1])


def train_one_epoch(model, loader, optimizer, loss_fn):
    model.train()
    total, batches = 0.0, 0
    for x, y in loader:
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        batches += 1
    return total / len(loader)


def baseline(loader):
    errors = [(x[:, -1:] - y).pow(2) for x, y in loader]
    return torch.cat(errors).mean().item()


write_files("readings")
loader = DataLoader(Readings("readings"), batch_size=32)
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.MSELoss()
print("last value as forecast:", round(baseline(loader), 5))
for epoch in range(5):
    mse = train_one_epoch(model, loader, optimizer, loss_fn)
    print("epoch", epoch, "mse", round(mse, 5))
torch.save(model.state_dict(), "forecaster.pt")
