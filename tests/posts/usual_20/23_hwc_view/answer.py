import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class SatelliteTiles(Dataset):
    """Satellite tiles with a binary water mask."""

    def __init__(self, n, size=48, seed=0):
        rng = np.random.default_rng(seed)
        self.tiles = rng.integers(40, 160, size=(n, size, size, 3), dtype=np.uint8)
        self.masks = np.zeros((n, size, size), dtype=np.float32)
        yy, xx = np.mgrid[:size, :size]
        for k in range(n):
            cy, cx = rng.integers(10, size - 10, 2)
            lake = (yy - cy) ** 2 + (xx - cx) ** 2 < rng.integers(6, 12) ** 2
            self.masks[k][lake] = 1.0
            self.tiles[k, ..., 2][lake] = np.minimum(self.tiles[k, ..., 2][lake] + 70, 255)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, idx):
        tile = torch.from_numpy(self.tiles[idx]).float() / 255.0
        tile = tile.permute(2, 0, 1)
        mask = torch.from_numpy(self.masks[idx]).unsqueeze(0)
        return tile, mask


def make_model(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, 1, 1),
    )


def iou(logits, mask):
    pred = logits > 0
    truth = mask > 0.5
    union = (pred | truth).sum().item()
    return (pred & truth).sum().item() / max(union, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(SatelliteTiles(96), batch_size=8, shuffle=True)
    val_loader = DataLoader(SatelliteTiles(24, seed=1), batch_size=8)
    model = make_model(args.width)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        for tile, mask in train_loader:
            loss = criterion(model(tile), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            scores = [iou(model(tile), mask) for tile, mask in val_loader]
        print(f"epoch {epoch}: loss {loss.item():.4f} val IoU {np.mean(scores):.3f}")


if __name__ == "__main__":
    main()
