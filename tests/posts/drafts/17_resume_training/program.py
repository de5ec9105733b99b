import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EnergyRegressor(nn.Module):
    def __init__(self, in_dim=12, hidden=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(in_dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x))


def get_loaders():
    g = torch.Generator().manual_seed(1)
    x = torch.randn(512, 12, generator=g)
    y = (x[:, :3].sum(dim=1, keepdim=True) + 0.1 * torch.randn(512, 1, generator=g))
    train = TensorDataset(x[:400], y[:400])
    val = TensorDataset(x[400:], y[400:])
    return DataLoader(train, batch_size=40, shuffle=True), DataLoader(val, batch_size=56)


def save_checkpoint(path, model, optimizer, epoch):
    torch.save({
        "epoch": epoch,
        "model_state": model.state_dict(),
        "optim_state": optimizer.state_dict(),
    }, path)


def load_checkpoint(path, model, optimizer):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint)
    optimizer.load_state_dict(checkpoint["optimizer_state"])
    return checkpoint["epoch"] + 1


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            loss = criterion(model(x), y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * x.size(0)
    return total / len(loader.dataset)


def fit(model, optimizer, path, num_epochs, start_epoch=0):
    train_loader, val_loader = get_loaders()
    criterion = nn.MSELoss()
    for epoch in range(num_epochs):
        train_loss = run_epoch(model, train_loader, criterion, optimizer)
        val_loss = run_epoch(model, val_loader, criterion)
        save_checkpoint(path, model, optimizer, epoch)
        print(f"epoch {epoch:2d} | train {train_loss:.4f} | val {val_loss:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as workdir:
        ckpt_path = os.path.join(workdir, "last.pt")

        print("first session")
        model = EnergyRegressor()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        fit(model, optimizer, ckpt_path, num_epochs=3)

        print("second session")
        model = EnergyRegressor()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        start_epoch = load_checkpoint(ckpt_path, model, optimizer)
        print("resuming from epoch", start_epoch)
        fit(model, optimizer, ckpt_path, num_epochs=6, start_epoch=start_epoch)
