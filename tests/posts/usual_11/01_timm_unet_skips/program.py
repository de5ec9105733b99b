"""U-Net on top of a timm encoder for road surface segmentation."""
import argparse
import random

import numpy as np
import timm
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--encoder", default="resnet18")
    p.add_argument("--classes", type=int, default=4)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--lr", type=float, default=3e-4)
    return p.parse_args()


def seed_all(s=42):
    random.seed(s)
    np.random.seed(s)
    torch.manual_seed(s)


class RoadDataset(Dataset):
    def __init__(self, n, size=96, n_classes=4, seed=0):
        rng = np.random.default_rng(seed)
        self.masks = np.zeros((n, size, size), dtype=np.int64)
        for m in self.masks:
            for c in range(1, n_classes):
                y, x = rng.integers(0, size - 24, 2)
                m[y:y + 24, x:x + 24] = c
        shade = self.masks[:, None] / n_classes
        self.images = (shade + 0.2 * rng.standard_normal((n, 3, size, size))).astype(np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), torch.from_numpy(self.masks[i])


class UpBlock(nn.Module):
    def __init__(self, in_ch, skip_ch, out_ch):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch + skip_ch, out_ch, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_ch),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_ch, out_ch, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_ch),
            nn.ReLU(inplace=True),
        )

    def forward(self, x, skip):
        x = F.interpolate(x, size=skip.shape[-2:], mode="nearest")
        return self.conv(torch.cat([x, skip], dim=1))


class TimmUNet(nn.Module):
    def __init__(self, encoder, n_classes, decoder_channels=(256, 128, 64, 32)):
        super().__init__()
        self.encoder = timm.create_model(encoder, features_only=True, pretrained=False)
        channels = self.encoder.feature_info.channels()
        in_ch = channels[-1]
        skips = channels[:-1]
        blocks = []
        for skip_ch, out_ch in zip(skips, decoder_channels):
            blocks.append(UpBlock(in_ch, skip_ch, out_ch))
            in_ch = out_ch
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Conv2d(in_ch, n_classes, 1)

    def forward(self, x):
        size = x.shape[-2:]
        *skips, x = self.encoder(x)
        for block, skip in zip(self.blocks, reversed(skips)):
            x = block(x, skip)
        return F.interpolate(self.head(x), size=size, mode="bilinear", align_corners=False)


def main():
    args = get_args()
    seed_all()
    train = DataLoader(RoadDataset(24, seed=0), args.batch_size, shuffle=True)
    val = DataLoader(RoadDataset(8, seed=1), args.batch_size)
    model = TimmUNet(args.encoder, args.classes)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for img, mask in train:
            loss = criterion(model(img), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * img.size(0)
        model.eval()
        hit = n = 0
        with torch.no_grad():
            for img, mask in val:
                hit += (model(img).argmax(1) == mask).sum().item()
                n += mask.numel()
        print(f"epoch {epoch} loss {total / len(train.dataset):.4f} pixel acc {hit / n:.4f}")


if __name__ == "__main__":
    main()
