"""Early stopping for the energy-demand model; the best weights go to the registry."""
import copy
import json
import math
import pathlib
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def demand(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + rng.normal(0, 0.6, n)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y.astype(np.float32)).unsqueeze(1))


class EarlyStopping:
    def __init__(self, patience=8, min_delta=1e-4):
        self.patience = patience
        self.min_delta = min_delta
        self.best_score = math.inf
        self.best_state = None
        self.best_epoch = -1
        self.counter = 0

    def step(self, score, model, epoch):
        if score < self.best_score - self.min_delta:
            self.best_score = score
            self.best_state = copy.deepcopy(model.state_dict())
            self.best_epoch = epoch
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


def make_model(width=128):
    return nn.Sequential(
        nn.Linear(8, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 1),
    )


@torch.no_grad()
def mse(model, loader):
    model.eval()
    se = sum(((model(x) - y) ** 2).sum().item() for x, y in loader)
    return se / len(loader.dataset)


def fit(model, train_loader, val_loader, max_epochs=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    stopper = EarlyStopping()
    for epoch in range(max_epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        val = mse(model, val_loader)
        if stopper.step(val, model, epoch):
            print(f"stopped at epoch {epoch}, best {stopper.best_score:.4f} at {stopper.best_epoch}")
            break
    model.load_state_dict(stopper.best_state)
    return stopper


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(demand(250, 0), batch_size=25, shuffle=True)
    val_loader = DataLoader(demand(150, 1), batch_size=150)
    test_loader = DataLoader(demand(300, 2), batch_size=300)
    model = make_model()
    stopper = fit(model, train_loader, val_loader)

    with tempfile.TemporaryDirectory() as registry:
        registry = pathlib.Path(registry)
        torch.save(model.state_dict(), registry / "weights.pt")
        card = {"best_epoch": stopper.best_epoch, "val": round(mse(model, val_loader), 4),
                "test": round(mse(model, test_loader), 4)}
        (registry / "card.json").write_text(json.dumps(card))
        print(card)
