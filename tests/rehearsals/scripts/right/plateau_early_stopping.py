import copy
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class EarlyStopping:
    patience: int = 2
    min_delta: float = 1e-3
    best: float = float("inf")
    bad_epochs: int = 0
    state: dict = field(default_factory=dict)

    def __call__(self, value, model):
        if value < self.best - self.min_delta:
            self.best, self.bad_epochs = value, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad_epochs += 1
        return self.bad_epochs > self.patience


def yacht_data(n=120):
    rng = np.random.default_rng(10)
    x = rng.normal(size=(n, 6))
    y = np.exp(0.5 * x[:, :1]) + 0.1 * rng.normal(size=(n, 1))
    return TensorDataset(torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32))


def epoch(model, loader, criterion, optimizer=None):
    total = 0.0
    for x, y in loader:
        if optimizer:
            optimizer.zero_grad()
        loss = criterion(model(x), y)
        if optimizer:
            loss.backward()
            optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_set, val_set, test_set = random_split(yacht_data(), [80, 20, 20])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    val_loader, test_loader = DataLoader(val_set, batch_size=20), DataLoader(test_set, batch_size=20)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1)
    stopper = EarlyStopping()
    for number in range(12):
        model.train()
        train_loss = epoch(model, train_loader, criterion, optimizer)
        model.eval()
        with torch.no_grad():
            val_loss = epoch(model, val_loader, criterion)
        scheduler.step(val_loss)
        print(f"{number}: {train_loss:.4f} {val_loss:.4f} lr {optimizer.param_groups[0]['lr']:.4f}")
        if stopper(val_loss, model):
            print("stopped early")
            break
    model.load_state_dict(stopper.state)
    model.eval()
    with torch.no_grad():
        print(f"test {epoch(model, test_loader, criterion):.4f}")


main()
