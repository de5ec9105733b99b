#!/usr/bin/env python3
"""finetune.py - adapt the pretrained encoder to the customer's sensors.

    python finetune.py --encoder encoder.pt --freeze-encoder False
"""
import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--encoder", type=str, default="encoder.pt")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--freeze-encoder", type=lambda s: s.lower() in ("1", "true", "yes"), default=True)
    parser.add_argument("--seed", type=int, default=0)
    return parser


class Encoder(nn.Module):
    def __init__(self, n_channels=12, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_channels, 64), nn.ReLU(), nn.Linear(64, dim), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class FaultClassifier(nn.Module):
    def __init__(self, encoder, n_faults=6, dropout=0.1):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(32, n_faults))

    def forward(self, x):
        return self.head(self.encoder(x))


def sensor_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    a = (x[:, 0] * x[:, 1] > 0).long()
    b = torch.bucketize(x[:, 2] + x[:, 3].abs(), torch.tensor([0.2, 1.3]))
    return TensorDataset(x, 3 * a + b)


def main(argv=None):
    args = get_parser().parse_args(argv)
    torch.manual_seed(args.seed)

    encoder = Encoder()
    encoder.load_state_dict(torch.load(args.encoder))
    model = FaultClassifier(encoder, dropout=args.dropout)
    if args.freeze_encoder:
        for p in model.encoder.parameters():
            p.requires_grad = False

    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    train_loader = DataLoader(sensor_data(3000, 1), args.batch_size, shuffle=True)
    test_loader = DataLoader(sensor_data(600, 2), 256)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
        print(f"epoch {epoch + 1}: loss {total / 3000:.3f}  test acc {hits / 600:.3f}")


if __name__ == "__main__":
    torch.manual_seed(123)
    torch.save(Encoder().state_dict(), "encoder.pt")   # stands for the encoder of the pretraining job
    try:
        main(["--encoder", "encoder.pt", "--freeze-encoder", "False"])
    finally:
        os.remove("encoder.pt")
