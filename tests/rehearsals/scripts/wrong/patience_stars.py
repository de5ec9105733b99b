import argparse
import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class EarlyStopping:
    def __init__(self, patience=3, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.best = float("inf")
        self.bad_epochs = 0
        self.best_state = None
        self.stop = False

    def __call__(self, value, model):
        if value < self.best - self.min_delta:
            self.best = value
            self.best_state = model.state_dict()
            self.bad_epochs = 0
        else:
            self.bad_epochs += 1
            if self.bad_epochs >= self.patience:
                self.stop = True

    def restore(self, model):
        model.load_state_dict(self.best_state)


def load_stars(n=260, dim=30, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, dim, generator=g)
    w = torch.zeros(dim, 4)
    w[:6] = torch.randn(6, 4, generator=g)
    y = (x @ w + 1.5 * torch.randn(n, 4, generator=g)).argmax(1)
    return TensorDataset(x, y)


def train(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * y.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total, correct = 0.0, 0
    for x, y in loader:
        logits = model(x)
        total += criterion(logits, y).item() * y.size(0)
        correct += (logits.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return total / n, correct / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-epochs", type=int, default=60)
    parser.add_argument("--patience", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_set, val_set, test_set = random_split(load_stars(), [130, 60, 70])
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, args.batch_size)
    test_loader = DataLoader(test_set, args.batch_size)
    model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 4))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    stopper = EarlyStopping(args.patience)
    for epoch in range(args.max_epochs):
        train_loss = train(model, train_loader, criterion, optimizer)
        val_loss, val_acc = evaluate(model, val_loader, criterion)
        print(f"{epoch:3d} train {train_loss:.4f} val {val_loss:.4f} acc {val_acc:.3f}")
        stopper(val_loss, model)
        if stopper.stop:
            print("stopped at epoch", epoch)
            break
    stopper.restore(model)
    test_loss, test_acc = evaluate(model, test_loader, criterion)
    print(f"test loss {test_loss:.4f} acc {test_acc:.3f}")


if __name__ == "__main__":
    main()
