import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class EnergyDataset(Dataset):
    """Predicts the load of the next hour from the last two days."""

    def __init__(self, load, history=48):
        self.load = torch.as_tensor(load, dtype=torch.float32)
        self.history = history

    def __len__(self):
        return len(self.load) - self.history

    def __getitem__(self, i):
        return self.load[i : i + self.history], self.load[i + self.history]


class MLPForecaster(nn.Module):
    def __init__(self, history=48, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(history, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def synthetic_load(hours=2400, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    daily = np.sin(2 * np.pi * t / 24)
    weekly = 0.4 * np.sin(2 * np.pi * t / (24 * 7))
    return daily + weekly + 0.1 * rng.standard_normal(hours)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for past, target in loader:
            pred = model(past)
            loss = criterion(pred, target)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(past)
    return total / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    load = synthetic_load()
    train_loader = DataLoader(EnergyDataset(load[:1900]), batch_size=32, shuffle=True)
    test_loader = DataLoader(EnergyDataset(load[1900:]), batch_size=32)
    model = MLPForecaster()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(6):
        train_mse = run_epoch(model, train_loader, criterion, optimizer)
        test_mse = run_epoch(model, test_loader, criterion)
        print(f"epoch {epoch}: train mse {train_mse:.4f}, test mse {test_mse:.4f}")
