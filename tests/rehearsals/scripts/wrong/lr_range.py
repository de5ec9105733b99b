import copy
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def spiral(n, noise=0.2, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (n,), generator=g)
    r = torch.rand(n, generator=g) * 2 + 0.2
    t = r * 2.5 + y * math.pi
    x = torch.stack([r * torch.cos(t), r * torch.sin(t)], 1)
    return x + noise * torch.randn(x.shape, generator=g), y.float()


class LRFinder:
    """Smith's range test: raise the rate exponentially and look at the smoothed loss."""

    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.state = copy.deepcopy(model.state_dict())
        self.opt_state = copy.deepcopy(optimizer.state_dict())
        self.history = {"lr": [], "loss": []}

    def range_test(self, loader, start=1e-5, end=1.0, num_iter=60, beta=0.9):
        gamma = (end / start) ** (1 / (num_iter - 1))
        lr, avg, best = start, 0.0, float("inf")
        batches = iter(loader)
        self.model.train()
        for i in range(num_iter):
            x, y = next(batches)
            for group in self.optimizer.param_groups:
                group["lr"] = lr
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x).squeeze(1), y)
            loss.backward()
            self.optimizer.step()
            avg = beta * avg + (1 - beta) * loss.item()
            smooth = avg / (1 - beta ** (i + 1))
            self.history["lr"].append(lr)
            self.history["loss"].append(smooth)
            best = min(best, smooth)
            if smooth > 4 * best:
                break
            lr *= gamma
        self.model.load_state_dict(self.state)
        self.optimizer.load_state_dict(self.opt_state)

    def suggestion(self):
        losses = self.history["loss"]
        slopes = [b - a for a, b in zip(losses, losses[1:])]
        steepest = min(range(len(slopes)), key=slopes.__getitem__)
        return self.history["lr"][steepest]


def fit(model, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):
        total, hits, seen = 0.0, 0, 0
        for x, y in loader:
            logits = model(x).squeeze(1)
            loss = criterion(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            hits += ((logits > 0).float() == y).sum().item()
            seen += len(y)
        print(f"epoch {epoch + 1}: loss {total / seen:.4f} acc {hits / seen:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*spiral(550)), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    finder = LRFinder(model, optimizer, criterion)
    finder.range_test(loader)
    lr = finder.suggestion()
    print(f"using lr {lr:.2e}")
    for group in optimizer.param_groups:
        group["lr"] = lr
    fit(model, loader, optimizer, criterion, epochs=4)
