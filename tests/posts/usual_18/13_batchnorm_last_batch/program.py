"""Multi-task tabular model for the churn team: churn yes/no and next month's spend."""
from typing import NamedTuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Batch(NamedTuple):
    features: torch.Tensor
    churn: torch.Tensor
    spend: torch.Tensor


class Customers(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 9)).astype(np.float32)
        self.x = x
        self.churn = (x[:, 0] - x[:, 3] + rng.normal(0, 0.5, n) > 0).astype(np.float32)
        self.spend = (20 + 5 * x[:, 1] + 2 * x[:, 2] ** 2).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return Batch(self.x[i], self.churn[i], self.spend[i])


class Tower(nn.Sequential):
    def __init__(self, d_in, d_out):
        super().__init__(nn.Linear(d_in, d_out), nn.BatchNorm1d(d_out), nn.GELU())


class ChurnSpend(nn.Module):
    def __init__(self, d_in):
        super().__init__()
        self.shared = nn.Sequential(Tower(d_in, 32), Tower(32, 32))
        self.churn = nn.Sequential(Tower(32, 16), nn.Linear(16, 1))
        self.spend = nn.Sequential(Tower(32, 16), nn.Linear(16, 1))

    def forward(self, x):
        h = self.shared(x)
        return self.churn(h).squeeze(-1), self.spend(h).squeeze(-1)


def compute_loss(model, batch, weight=0.02):
    churn, spend = model(batch.features)
    return F.binary_cross_entropy_with_logits(churn, batch.churn) + weight * F.huber_loss(spend, batch.spend)


def fit(model, train_loader, valid_loader, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, epochs=epochs, steps_per_epoch=len(train_loader))
    for epoch in range(epochs):
        model.train()
        for batch in train_loader:
            loss = compute_loss(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            valid = np.mean([compute_loss(model, b).item() for b in valid_loader])
        print(f"epoch {epoch}: valid {valid:.3f} lr {scheduler.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(Customers(641, 0), batch_size=64, shuffle=True, num_workers=0)
    valid_loader = DataLoader(Customers(200, 1), batch_size=64)
    fit(ChurnSpend(9), train_loader, valid_loader, epochs=4)
