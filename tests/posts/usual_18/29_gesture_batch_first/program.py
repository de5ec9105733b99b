"""Self-attention over wrist-sensor windows; gesture classes told apart by the order of two bursts."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from einops import repeat
from torch.utils.data import DataLoader, Dataset


class GestureWindows(Dataset):
    """(time, 6) windows: accelerometer and gyroscope."""

    def __init__(self, n, steps, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 4, n)
        self.x = rng.normal(0, 0.3, (n, steps, 6)).astype(np.float32)
        for i, k in enumerate(self.y):
            a, b = sorted(rng.choice(np.arange(2, steps - 4), 2, replace=False))
            first, second = [(0, 3), (3, 0), (1, 4), (4, 1)][k]
            self.x[i, a:a + 3, first] += 2
            self.x[i, b:b + 3, second] += 2

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])


class GestureTransformer(nn.Module):
    def __init__(self, steps, dim=32, heads=4, layers=2, classes=4):
        super().__init__()
        self.embed = nn.Linear(6, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, steps + 1, dim))
        layer = nn.TransformerEncoderLayer(d_model=dim, nhead=heads, dim_feedforward=2 * dim, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, num_layers=layers)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        tokens = self.embed(x)
        cls = repeat(self.cls, "1 1 d -> b 1 d", b=x.shape[0])
        tokens = torch.cat([cls, tokens], dim=1) + self.pos
        encoded = self.encoder(tokens)
        return self.head(encoded[:, 0])


def run(args):
    torch.manual_seed(args.seed)
    train_loader = DataLoader(GestureWindows(400, args.steps, 0), batch_size=args.batch, shuffle=True)
    test_loader = DataLoader(GestureWindows(120, args.steps, 1), batch_size=60)
    model = GestureTransformer(args.steps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = np.mean([(model(x).argmax(1) == y).float().mean().item() for x, y in test_loader])
        print(f"epoch {epoch}: loss {loss.item():.3f} test accuracy {acc:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    run(parser.parse_args())
