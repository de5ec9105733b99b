import argparse
import json

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def load_houses(n=512, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.uniform(30, 200, n)
    rooms = np.round(area / 25 + rng.normal(0, 0.7, n)).clip(1)
    age = rng.uniform(0, 80, n)
    price = 3.0 * area + 20 * rooms - 0.8 * age + rng.normal(0, 15, n)
    x = np.stack([area, rooms, age], 1).astype(np.float32)
    y = price.astype(np.float32)[:, None]
    return x, y


def standardize(train, *others):
    mean, std = train.mean(0), train.std(0)
    return [(a - mean) / std for a in (train, *others)]


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    epoch_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * x.size(0)
    return epoch_loss / len(loader.dataset)


def validate(model, loader, criterion):
    model.eval()
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(criterion(model(x), y))
    return torch.stack(losses).mean()


def main(args):
    torch.manual_seed(args.seed)
    x, y = load_houses()
    x_tr, x_va = standardize(x[:400], x[400:])
    y_tr, y_va = standardize(y[:400], y[400:])
    tr = DataLoader(TensorDataset(torch.from_numpy(x_tr), torch.from_numpy(y_tr)), args.batch_size, shuffle=True)
    va = DataLoader(TensorDataset(torch.from_numpy(x_va), torch.from_numpy(y_va)), args.batch_size)
    model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
    criterion = nn.HuberLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)

    history = {"train": [], "val": [], "lr": []}
    best = float("inf")
    for epoch in range(args.epochs):
        train_loss = train_epoch(model, tr, criterion, optimizer)
        val_loss = validate(model, va, criterion)
        scheduler.step(val_loss)
        history["train"].append(train_loss)
        history["val"].append(val_loss)
        history["lr"].append(optimizer.param_groups[0]["lr"])
        if val_loss < best:
            best = val_loss
            torch.save(model.state_dict(), "houses.pt")
        print(f"epoch {epoch} | train {train_loss:.4f} | val {val_loss:.4f}")

    with open(args.history, "w") as f:
        json.dump(history, f, indent=1)
    print("best", float(best))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=36)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--history", default="history.json")
    main(parser.parse_args())
