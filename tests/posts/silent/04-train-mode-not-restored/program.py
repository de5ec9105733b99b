import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    return p.parse_args()


def make_data(n=600, d=30, seed=0):
    rng = np.random.RandomState(seed)
    x = rng.randn(n, d).astype(np.float32)
    y = (x[:, :5].sum(1) > 0).astype(np.int64)
    return torch.from_numpy(x), torch.from_numpy(y)


def validate(net, loader, criterion):
    net.eval()
    loss_sum, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            loss_sum += criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, correct / n


def main():
    args = parse_args()
    torch.manual_seed(0)
    x, y = make_data()
    train_loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[480:], y[480:]), batch_size=args.batch_size)

    net = nn.Sequential(
        nn.Linear(30, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(64, 2),
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)

    net.train()
    for epoch in range(args.epochs):
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(xb), yb)
            loss.backward()
            optimizer.step()
        val_loss, val_acc = validate(net, val_loader, criterion)
        print(f"epoch {epoch}: train {loss.item():.3f} val {val_loss:.3f} acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
