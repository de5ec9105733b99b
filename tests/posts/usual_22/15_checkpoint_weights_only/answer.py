import os
import tempfile
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class TrainConfig:
    n_features: int = 12
    hidden: int = 32
    lr: float = 1e-3
    epochs: int = 4


class Regressor(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.n_features, cfg.hidden),
            nn.ReLU(),
            nn.Linear(cfg.hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def save_checkpoint(path, model, optimizer, epoch, cfg):
    torch.save({
        "epoch": epoch,
        "config": cfg,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
    }, path)


def load_checkpoint(path):
    ckpt = torch.load(path, map_location="cpu", weights_only=False)
    cfg = ckpt["config"]
    model = Regressor(cfg)
    model.load_state_dict(ckpt["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    optimizer.load_state_dict(ckpt["optimizer"])
    return model, optimizer, ckpt["epoch"] + 1


def run_epoch(model, optimizer, x, y):
    model.train()
    total = 0.0
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    return total / len(x)


def main():
    torch.manual_seed(0)
    cfg = TrainConfig()
    x = torch.randn(256, cfg.n_features)
    y = x[:, 0] - 2 * x[:, 1]

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        model = Regressor(cfg)
        optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        for epoch in range(cfg.epochs):
            print("epoch", epoch, "loss", run_epoch(model, optimizer, x, y))
            save_checkpoint(path, model, optimizer, epoch, cfg)

        model, optimizer, start = load_checkpoint(path)
        for epoch in range(start, start + 2):
            print("resumed epoch", epoch, "loss", run_epoch(model, optimizer, x, y))


if __name__ == "__main__":
    main()
