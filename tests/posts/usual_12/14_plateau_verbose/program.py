#!/usr/bin/env python
"""Train the fan-noise anomaly autoencoder.

Taken over from the 2021 project; runs in the new container (recent torch).
"""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class AutoEncoder(nn.Module):
    def __init__(self, n_in, bottleneck=8):
        super(AutoEncoder, self).__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_in, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, bottleneck))
        self.decoder = nn.Sequential(
            nn.Linear(bottleneck, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, n_in))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def synth(n, bands, seed):
    rng = np.random.default_rng(seed)
    speed = rng.uniform(0.5, 1.5, (n, 1))
    freq = np.linspace(0, 4, bands)[None]
    spec = np.exp(-(freq - speed) ** 2 * 6) + 0.5 * np.exp(-(freq - 2 * speed) ** 2 * 6)
    return (spec + rng.normal(0, 0.05, (n, bands))).astype(np.float32)


def build_optimisation(model, args):
    optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="min", factor=0.5, patience=args.patience, verbose=True)
    return optimizer, scheduler


def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for (x,) in loader:
            total += criterion(model(x), x).item() * x.size(0)
    return total / len(loader.dataset)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bands", type=int, default=40)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    train_x = torch.from_numpy(synth(800, args.bands, 0))
    valid_x = torch.from_numpy(synth(200, args.bands, 1))
    train_loader = DataLoader(TensorDataset(train_x), batch_size=50, shuffle=True)
    valid_loader = DataLoader(TensorDataset(valid_x), batch_size=50)

    model = AutoEncoder(args.bands)
    criterion = nn.MSELoss()
    optimizer, scheduler = build_optimisation(model, args)

    for epoch in range(args.epochs):
        model.train()
        for (x,) in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), x)
            loss.backward()
            optimizer.step()
        val = evaluate(model, valid_loader, criterion)
        scheduler.step(val)
        print("epoch {:2d}  valid {:.5f}  lr {:.1e}".format(epoch, val, optimizer.param_groups[0]["lr"]))

    torch.save(model.state_dict(), "fan_ae.pt")


if __name__ == "__main__":
    main()
