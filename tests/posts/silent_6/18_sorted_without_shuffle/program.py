import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GESTURES = ("swipe", "circle", "tap", "shake")


def trajectory(kind, steps, rng):
    s = np.linspace(0, 1, steps)
    if kind == "swipe":
        xy = np.stack([s, 0.1 * s], 0)
    elif kind == "circle":
        xy = np.stack([np.cos(6.28 * s), np.sin(6.28 * s)], 0) * 0.5
    elif kind == "tap":
        xy = np.stack([0 * s, np.exp(-((s - 0.5) ** 2) / 0.01)], 0)
    else:
        xy = np.stack([0.4 * np.sin(25 * s), 0 * s], 0)
    xy = xy * rng.uniform(0.7, 1.3) + rng.normal(0, 0.3, (2, 1))
    return xy + rng.normal(0, 0.15, xy.shape)


def load_folder(per_class, steps, seed):
    """Recordings as read from the class folders."""
    rng = np.random.default_rng(seed)
    samples, labels = [], []
    for index, name in enumerate(GESTURES):
        for _ in range(per_class):
            samples.append(trajectory(name, steps, rng))
            labels.append(index)
    samples = torch.tensor(np.stack(samples), dtype=torch.float32)
    return TensorDataset(samples, torch.tensor(labels))


class GestureNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(2, 24, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 24, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4),
            nn.Flatten(),
        )
        self.head = nn.Linear(96, n_classes)

    def forward(self, x):
        return self.head(self.body(x))


def confusion(model, dataset):
    x, y = dataset.tensors
    with torch.no_grad():
        pred = model(x).argmax(1)
    table = torch.zeros(len(GESTURES), len(GESTURES), dtype=torch.long)
    for t, p in zip(y, pred):
        table[t, p] += 1
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=3e-2)
    parser.add_argument("--batch-size", type=int, default=20)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_set = load_folder(200, 40, seed=0)
    test_set = load_folder(60, 40, seed=1)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=False)

    model = GestureNet(len(GESTURES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        table = confusion(model, test_set)
        print(f"epoch {epoch + 1} loss {np.mean(losses):.3f} test acc {table.diag().sum().item() / table.sum().item():.3f}")
    print(table)


if __name__ == "__main__":
    main()
