"""Multi-label findings on bitewing x-rays with a timm backbone.

    python program.py --model resnet10t --epochs 5
"""
import argparse

import numpy as np
import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FINDINGS = ["caries", "filling", "crown", "implant", "calculus"]


class Bitewings(Dataset):
    def __init__(self, n, size, seed):
        rng = np.random.default_rng(seed)
        self.findings = (rng.random((n, len(FINDINGS))) < 0.35).astype(np.int64)
        self.images = rng.normal(0.45, 0.08, (n, size, size)).astype(np.float32)
        step = size // len(FINDINGS)
        for i in range(n):
            for k in np.flatnonzero(self.findings[i]):
                top = rng.integers(0, size - 14)
                sign = -1 if k == 0 else 1
                self.images[i, top:top + 12, k * step:k * step + 8] += sign * rng.uniform(0.2, 0.45)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).unsqueeze(0)
        findings = torch.from_numpy(self.findings[i])
        return (image - 0.5) / 0.25, findings


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    losses = []
    for images, findings in loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, findings)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


def evaluate(model, loader, threshold):
    model.eval()
    tp = fp = fn = 0
    with torch.no_grad():
        for images, findings in loader:
            outputs = model(images)
            predicted = outputs > threshold
            actual = findings == 1
            tp += (predicted & actual).sum().item()
            fp += (predicted & ~actual).sum().item()
            fn += (~predicted & actual).sum().item()
    precision = tp / max(tp + fp, 1)
    recall = tp / max(tp + fn, 1)
    return precision, recall


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet10t")
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--threshold", type=float, default=0.5)
    return parser.parse_args()


if __name__ == "__main__":
    args = get_args()
    torch.manual_seed(12)

    train_loader = DataLoader(Bitewings(192, args.size, 0), args.batch_size, shuffle=True)
    val_loader = DataLoader(Bitewings(48, args.size, 1), args.batch_size)

    model = timm.create_model(args.model, pretrained=False, num_classes=len(FINDINGS))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer)
        precision, recall = evaluate(model, val_loader, args.threshold)
        print(f"epoch {epoch + 1}: loss {loss:.3f} precision {precision:.3f} recall {recall:.3f}")
