import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_data(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(n, 1))
    sigma = 0.05 + 0.25 * np.abs(x)
    y = np.sin(1.5 * x) + sigma * rng.standard_normal((n, 1))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y[:, 0], dtype=torch.float32)


class GaussianMLP(nn.Module):
    """Predicts mean (column 0) and standard deviation (column 1)."""

    def __init__(self, in_dim=1, hidden=64, min_std=1e-3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(in_dim, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
        )
        self.head = nn.Linear(hidden, 2)
        self.min_std = min_std

    def forward(self, x):
        out = self.head(self.body(x))
        out[:, 1] = F.softplus(out[:, 1]) + self.min_std
        return out


def gaussian_nll(pred, target):
    mean, std = pred[:, 0], pred[:, 1]
    z = (target - mean) / std
    return (0.5 * z ** 2 + torch.log(std) + 0.5 * math.log(2 * math.pi)).mean()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    nll, inside, count = 0.0, 0, 0
    for x, y in loader:
        pred = model(x)
        nll += gaussian_nll(pred, y).item() * len(y)
        inside += ((y - pred[:, 0]).abs() < 1.96 * pred[:, 1]).sum().item()
        count += len(y)
    return nll / count, inside / count


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(TensorDataset(*make_data(1000, 0)), batch_size=50, shuffle=True)
    val_loader = DataLoader(TensorDataset(*make_data(300, 1)), batch_size=100)

    model = GaussianMLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(15):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = gaussian_nll(model(x), y)
            loss.backward()
            optimizer.step()
        nll, coverage = evaluate(model, val_loader)
        print(f"epoch {epoch:2d}  val nll {nll:.4f}  95% coverage {coverage:.3f}")


if __name__ == "__main__":
    main()
