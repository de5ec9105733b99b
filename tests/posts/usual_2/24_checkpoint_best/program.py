import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EnergyMLP(nn.Module):
    """Predicts the energy of a molecule from its descriptor."""

    def __init__(self, n_in=20, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def evaluate(model, loader):
    model.eval()
    errors = []
    with torch.no_grad():
        for x, y in loader:
            errors.append((model(x) - y).abs().mean().item())
    return np.mean(errors)


def train(model, train_loader, val_loader, path, epochs=5):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    best_mae = float("inf")
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss_fn(model(x), y).backward()
            optimizer.step()
        mae = evaluate(model, val_loader)
        print(f"epoch {epoch}: val MAE {mae:.4f}")
        if mae < best_mae:
            best_mae = mae
            torch.save({
                "epoch": epoch,
                "model_state_dict": model.state_dict(),
                "optimizer_state_dict": optimizer.state_dict(),
                "best_mae": best_mae,
            }, path)


def load_best(path):
    checkpoint = torch.load(path)
    model = EnergyMLP()
    model.load_state_dict(checkpoint["model_state_dict"])
    model.eval()
    print(f"loaded epoch {checkpoint['epoch']} with MAE {checkpoint['best_mae']:.4f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(400, 20)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.05 * torch.randn(400)
    train_loader = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=50, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[300:], y[300:]), batch_size=50)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "best.pt")
        train(EnergyMLP(), train_loader, val_loader, path)
        model = load_best(path)
        print("final MAE", evaluate(model, val_loader))
