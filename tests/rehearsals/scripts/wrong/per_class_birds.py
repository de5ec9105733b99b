import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CLASSES = ["wren", "robin", "finch", "owl", "crow"]


def make_split(n, seed, dim=26):
    means = torch.randn(len(CLASSES), dim, generator=torch.Generator().manual_seed(7))
    gen = torch.Generator().manual_seed(seed)
    labels = torch.randint(len(CLASSES), (n,), generator=gen)
    return TensorDataset(means[labels] + 1.6 * torch.randn(n, dim, generator=gen), labels)


class PerClass:
    def __init__(self, n):
        self.correct = torch.zeros(n)
        self.total = torch.zeros(n)

    def add(self, logits, labels):
        hit = (logits.argmax(1) == labels).float()
        self.total[labels] += 1
        self.correct[labels] += hit

    def accuracy(self):
        return self.correct / self.total.clamp(min=1)


class Timer:
    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, *exc):
        self.seconds = time.monotonic() - self.start


def train_one_epoch(model, loader, optimizer, epoch, every):
    model.train()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (i + 1) % every == 0:
            print(f"  [{epoch}:{i + 1}] loss {loss.item():.4f}")


def evaluate(model, loader):
    model.eval()
    meter = PerClass(len(CLASSES))
    with torch.inference_mode():
        for x, y in loader:
            meter.add(model(x), y)
    return meter.accuracy()


def run(args):
    torch.manual_seed(args.seed)
    train_loader = DataLoader(make_split(430, 0), batch_size=args.bs, shuffle=True)
    val_loader = DataLoader(make_split(190, 1), batch_size=args.bs)
    model = nn.Sequential(nn.Linear(26, 40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, len(CLASSES)))
    optimizer = torch.optim.SGD([
        {"params": model[0].parameters(), "lr": args.lr},
        {"params": model[3].parameters(), "lr": args.lr * 2, "weight_decay": 1e-4},
    ], lr=args.lr, momentum=0.9)
    seconds = []
    for epoch in range(args.epochs):
        with Timer() as timer:
            train_one_epoch(model, train_loader, optimizer, epoch, args.every)
        seconds.append(timer.seconds)
        acc = evaluate(model, val_loader)
        report = " ".join(f"{name} {a:.2f}" for name, a in zip(CLASSES, acc.tolist()))
        print(f"epoch {epoch}: {report} | mean {acc.mean().item():.4f}")
    assert sum(seconds) > 0


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--every", type=int, default=6)
    ap.add_argument("--seed", type=int, default=0)
    run(ap.parse_args())
