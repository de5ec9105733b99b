import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MAX_DISPARITY = 8


def render_pair(rng, height, width):
    """Left/right uint8 frames: a textured background and a nearer object."""
    texture = rng.integers(0, 256, size=(height // 4, (width + MAX_DISPARITY) // 4 + 1, 3))
    texture = np.kron(texture, np.ones((4, 4, 1))).astype(np.uint8)
    left = texture[:, :width].copy()
    right = texture[:, 2:width + 2].copy()
    h, w = rng.integers(10, 20, size=2)
    r, c = rng.integers(0, height - h), rng.integers(MAX_DISPARITY, width - w)
    color = rng.integers(0, 256, size=3)
    left[r:r + h, c:c + w] = color
    right[r:r + h, c - 6:c - 6 + w] = color
    return left, right


class StereoFrames(Dataset):
    def __init__(self, count, height=32, width=64, seed=0):
        rng = np.random.default_rng(seed)
        self.pairs = [render_pair(rng, height, width) for _ in range(count)]
        self.transform = transforms.ToTensor()

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, idx):
        left, right = self.pairs[idx]
        left = self.transform(left)
        right = self.transform(right)
        return left, right


class ViewSynthesis(nn.Module):
    """Probability over disparities per pixel, right view = weighted shifts of the left view."""

    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 5, padding=2), nn.ReLU(),
            nn.Conv2d(width, width, 5, padding=2), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, MAX_DISPARITY + 1, 1),
        )

    def forward(self, left):
        prob = self.net(left).softmax(dim=1)
        padded = F.pad(left, (0, MAX_DISPARITY, 0, 0), mode="replicate")
        shifted = [padded[..., d:d + left.size(-1)] for d in range(MAX_DISPARITY + 1)]
        return (torch.stack(shifted, dim=1) * prob.unsqueeze(2)).sum(dim=1)


def train_epoch(model, loader, criterion, optimizer, device):
    model.train()
    running = 0.0
    for left, right in loader:
        left, right = left.to(device), right.to(device)
        optimizer.zero_grad()
        loss = criterion(model(left), right)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


@torch.no_grad()
def validate(model, loader, criterion, device):
    model.eval()
    return sum(criterion(model(l.to(device)), r.to(device)).item() for l, r in loader) / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    train_loader = DataLoader(StereoFrames(96), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(StereoFrames(24, seed=5), batch_size=args.batch_size)
    model = ViewSynthesis().to(device)
    criterion = nn.L1Loss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.3)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train_loader, criterion, optimizer, device)
        val = validate(model, val_loader, criterion, device)
        scheduler.step()
        print(f"[{epoch + 1}/{args.epochs}] train {loss:.6f}  val {val:.6f}")


if __name__ == "__main__":
    main()
