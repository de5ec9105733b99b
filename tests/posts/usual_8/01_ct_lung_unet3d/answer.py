"""Lung nodule segmentation on CT sub-volumes with a small 3D U-Net."""
import argparse
from typing import Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


def make_case(rng: np.random.Generator, size: Tuple[int, int, int]):
    """A block of lung tissue (in HU) with one bright ball."""
    d, h, w = size
    vol = rng.normal(-750, 60, size=size)
    zz, yy, xx = np.mgrid[:d, :h, :w]
    c = [rng.integers(s // 4, 3 * s // 4) for s in size]
    r = rng.uniform(2.5, 5.0)
    mask = (zz - c[0]) ** 2 + (yy - c[1]) ** 2 + (xx - c[2]) ** 2 <= r ** 2
    vol[mask] = rng.normal(30, 40, size=mask.sum())
    return vol.astype(np.float32), mask.astype(np.float32)


class NoduleDataset(Dataset):
    def __init__(self, n: int, seed: int, size=(16, 32, 32)):
        rng = np.random.default_rng(seed)
        self.cases = [make_case(rng, size) for _ in range(n)]

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, i: int) -> Tuple[Tensor, Tensor]:
        vol, mask = self.cases[i]
        vol = np.clip(vol, -1000, 400)
        vol = (vol + 1000) / 1400
        return torch.from_numpy(vol)[None], torch.from_numpy(mask)[None]


class DoubleConv(nn.Module):
    def __init__(self, in_ch: int, out_ch: int):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv3d(in_ch, out_ch, 3, padding=1, bias=False),
            nn.BatchNorm3d(out_ch),
            nn.ReLU(inplace=True),
            nn.Conv3d(out_ch, out_ch, 3, padding=1, bias=False),
            nn.BatchNorm3d(out_ch),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class UNet3D(nn.Module):
    def __init__(self, base: int = 8):
        super().__init__()
        self.enc1 = DoubleConv(1, base)
        self.enc2 = DoubleConv(base, base * 2)
        self.bottom = DoubleConv(base * 2, base * 4)
        self.pool = nn.MaxPool3d(2)
        self.up2 = nn.ConvTranspose3d(base * 4, base * 2, 2, stride=2)
        self.dec2 = DoubleConv(base * 4, base * 2)
        self.up1 = nn.ConvTranspose3d(base * 2, base, 2, stride=2)
        self.dec1 = DoubleConv(base * 2, base)
        self.head = nn.Conv3d(base, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        b = self.bottom(self.pool(e2))
        d2 = self.dec2(torch.cat([self.up2(b), e2], dim=1))
        d1 = self.dec1(torch.cat([self.up1(d2), e1], dim=1))
        return self.head(d1)


def dice(prob: Tensor, target: Tensor, eps: float = 1e-6) -> Tensor:
    inter = (prob * target).sum(dim=(1, 2, 3, 4))
    total = prob.sum(dim=(1, 2, 3, 4)) + target.sum(dim=(1, 2, 3, 4))
    return ((2 * inter + eps) / (total + eps)).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch-size", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)

    train_loader = DataLoader(NoduleDataset(16, 0), args.batch_size, shuffle=True)
    val_loader = DataLoader(NoduleDataset(8, 1), args.batch_size)
    net = UNet3D()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    bce = nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        net.train()
        for vol, mask in train_loader:
            logits = net(vol)
            loss = bce(logits, mask) + 1 - dice(logits.sigmoid(), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            score = np.mean([dice((net(v) > 0).float(), m).item() for v, m in val_loader])
        print(f"epoch {epoch}: loss {loss.item():.4f}, val dice {score:.3f}")


if __name__ == "__main__":
    main()
