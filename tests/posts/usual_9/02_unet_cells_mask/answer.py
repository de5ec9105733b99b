"""Nuclei segmentation with a small U-Net (synthetic blobs)."""
from typing import Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


def make_sample(rng: np.random.Generator, size: int = 64) -> Tuple[np.ndarray, np.ndarray]:
    yy, xx = np.mgrid[:size, :size]
    mask = np.zeros((size, size), dtype=np.uint8)
    for _ in range(rng.integers(2, 6)):
        cy, cx, r = rng.integers(8, size - 8, 2).tolist() + [rng.integers(4, 9)]
        mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2] = 255
    image = (mask * 0.5 + rng.normal(60, 20, (size, size))).clip(0, 255).astype(np.uint8)
    return image, mask


class NucleiDataset(Dataset):
    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.samples = [make_sample(rng) for _ in range(n)]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, i: int) -> Tuple[Tensor, Tensor]:
        image, mask = self.samples[i]
        x = torch.from_numpy(image).float().div(255).unsqueeze(0)
        y = torch.from_numpy(mask).float().div(255).unsqueeze(0)
        return x, y


def double_conv(cin: int, cout: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base: int = 12) -> None:
        super().__init__()
        self.d1 = double_conv(1, base)
        self.d2 = double_conv(base, base * 2)
        self.mid = double_conv(base * 2, base * 4)
        self.u2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.c2 = double_conv(base * 4, base * 2)
        self.u1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.c1 = double_conv(base * 2, base)
        self.out = nn.Conv2d(base, 1, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        s1 = self.d1(x)
        s2 = self.d2(self.pool(s1))
        m = self.mid(self.pool(s2))
        y = self.c2(torch.cat([self.u2(m), s2], dim=1))
        y = self.c1(torch.cat([self.u1(y), s1], dim=1))
        return self.out(y)


class BCEDiceLoss(nn.Module):
    def __init__(self, weight: float = 0.5, eps: float = 1.0) -> None:
        super().__init__()
        self.bce = nn.BCEWithLogitsLoss()
        self.weight, self.eps = weight, eps

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        bce = self.bce(logits, target)
        p = torch.sigmoid(logits).flatten(1)
        t = target.flatten(1)
        dice = (2 * (p * t).sum(1) + self.eps) / (p.sum(1) + t.sum(1) + self.eps)
        return self.weight * bce + (1 - self.weight) * (1 - dice.mean())


def main() -> None:
    torch.manual_seed(0)
    train = DataLoader(NucleiDataset(48, 0), batch_size=8, shuffle=True)
    valid = DataLoader(NucleiDataset(16, 1), batch_size=8)
    net, loss_fn = UNet(), BCEDiceLoss()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(3):
        net.train()
        for x, y in train:
            opt.zero_grad(set_to_none=True)
            loss = loss_fn(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            vals = [loss_fn(net(x), y).item() for x, y in valid]
        print(f"epoch {epoch}: val loss {sum(vals) / len(vals):.4f}")


if __name__ == "__main__":
    main()
