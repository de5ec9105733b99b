"""train.py / evaluate.py of the defect detector, merged for the CI smoke test."""
from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ConvBlock(nn.Sequential):
    def __init__(self, cin: int, cout: int):
        super().__init__(
            nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )


class DefectNet(nn.Module):
    def __init__(self, width: int = 16, num_classes: int = 4):
        super().__init__()
        self.stem = ConvBlock(1, width)
        self.stage1 = ConvBlock(width, 2 * width)
        self.stage2 = ConvBlock(2 * width, 4 * width)
        self.head = nn.Linear(4 * width, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stage2(self.stage1(self.stem(x)))
        return self.head(x.mean(dim=(2, 3)))


def make_loader(n: int, seed: int, shuffle: bool) -> DataLoader:
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.3 * torch.randn(n, 1, 48, 48, generator=g)
    for i, c in enumerate(y.tolist()):
        x[i, :, 12 * c:12 * c + 6, :] += 1.0
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=shuffle)


def save_checkpoint(path: Path, epoch: int, model: nn.Module, optimizer: torch.optim.Optimizer, best: float) -> None:
    torch.save(
        {
            "epoch": epoch,
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "best_acc": best,
        },
        path,
    )


def load_model(path: Path, device: torch.device) -> nn.Module:
    checkpoint = torch.load(path, map_location=device)
    model = DefectNet()
    model.load_state_dict(checkpoint)
    return model.to(device).eval()


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    model.eval()
    hits = 0
    for x, y in loader:
        hits += (model(x.to(device)).argmax(1) == y.to(device)).sum().item()
    return hits / len(loader.dataset)


def train(args: argparse.Namespace, device: torch.device, path: Path) -> None:
    torch.manual_seed(args.seed)
    model = DefectNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    train_loader, val_loader = make_loader(256, 0, True), make_loader(96, 1, False)
    best = -1.0
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        acc = accuracy(model, val_loader, device)
        print(f"[{epoch}] val acc {acc:.3f}")
        if acc > best:
            best = acc
            save_checkpoint(path, epoch, model, optimizer, best)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "best.pth"
        train(args, device, path)
        print(f"checkpoint: {os.path.getsize(path) / 1024:.0f} KiB")
        model = load_model(path, device)
        print(f"test acc {accuracy(model, make_loader(96, 2, False), device):.3f}")


if __name__ == "__main__":
    main()
