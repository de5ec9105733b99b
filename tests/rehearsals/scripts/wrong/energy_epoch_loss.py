"""Hourly consumption of a building, a small MLP."""
import logging

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("energy")


class Consumption(Dataset):
    def __init__(self, hours=24 * 10):
        rng = np.random.default_rng(5)
        t = np.arange(hours)
        load = 3 + np.sin(t / 24 * 2 * np.pi) + 0.1 * rng.normal(size=hours)
        self.load = torch.tensor(load, dtype=torch.float32)

    def __len__(self):
        return len(self.load) - 24

    def __getitem__(self, i):
        return self.load[i:i + 24], self.load[i + 24:i + 25]


def make_model():
    return nn.Sequential(nn.Linear(24, 48), nn.SiLU(), nn.Linear(48, 1))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    running_loss = 0.0
    for past, following in loader:
        optimizer.zero_grad()
        loss = criterion(model(past), following)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    return running_loss / len(loader.dataset)


def validate(model, loader, criterion):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for past, following in loader:
            total += criterion(model(past), following).item() * len(past)
            count += len(past)
    return total / count


def main():
    torch.manual_seed(0)
    data = Consumption()
    train_set, val_set = random_split(data, [len(data) - 48, 48])
    train_loader = DataLoader(train_set, batch_size=24, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=24)
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    for epoch in range(3):
        train_loss = train_epoch(model, train_loader, criterion, optimizer)
        val_loss = validate(model, val_loader, criterion)
        log.info("epoch %d train %.5f val %.5f", epoch, train_loss, val_loss)


if __name__ == "__main__":
    main()
