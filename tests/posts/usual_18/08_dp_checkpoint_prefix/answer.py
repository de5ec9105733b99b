"""Train on the cluster (data parallel), then score crops in the service from the saved checkpoint."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class LeafCrops(Dataset):
    """Synthetic leaf crops: healthy / rust / mildew."""

    def __init__(self, size=96, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 3, (size,), generator=g)
        self.x = torch.rand(size, 3, 24, 24, generator=g)
        for i, c in enumerate(self.y):
            self.x[i, c] += 0.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3),
    )


def train(args):
    model = nn.DataParallel(build_model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(LeafCrops(), batch_size=24, shuffle=True)
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        print(f"[train] epoch {epoch} loss {loss.item():.3f}")
    torch.save({
        "epoch": args.epochs,
        "state_dict": model.module.state_dict(),
        "optimizer": optimizer.state_dict(),
    }, args.ckpt)


class Scorer:
    def __init__(self, path):
        checkpoint = torch.load(path, map_location="cpu")
        self.model = build_model()
        self.model.load_state_dict(checkpoint["state_dict"])
        self.model.eval()

    @torch.inference_mode()
    def __call__(self, crops):
        return self.model(crops).softmax(-1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--ckpt", default=os.path.join(tempfile.gettempdir(), "leaf_dp.pt"))
    args = p.parse_args()
    torch.manual_seed(0)
    train(args)

    scorer = Scorer(args.ckpt)
    held_out = LeafCrops(30, seed=9)
    pred = scorer(held_out.x).argmax(-1)
    print("[service] accuracy", (pred == held_out.y).float().mean().item())


if __name__ == "__main__":
    main()
