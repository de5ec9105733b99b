import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description="Segment cell nuclei with a small U-Net")
parser.add_argument("--size", type=int, default=96)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--base", type=int, default=8)
parser.add_argument("--lr", type=float, default=2e-3)
args = parser.parse_args()


class NucleiDataset(Dataset):
    def __init__(self, n, size, seed):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:size, :size]
        self.images, self.masks = [], []
        for _ in range(n):
            mask = np.zeros((size, size), dtype=np.uint8)
            for _ in range(rng.integers(3, 8)):
                cy, cx, r = rng.integers(10, size - 10), rng.integers(10, size - 10), rng.integers(5, 12)
                mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 255
            image = 40 + 120 * (mask > 0) + rng.normal(0, 25, mask.shape)
            self.images.append(image.clip(0, 255).astype(np.uint8))
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float().unsqueeze(0) / 255
        mask = torch.from_numpy(self.masks[i] // 255).long()
        return image, mask


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base, n_classes=2):
        super().__init__()
        self.down1 = double_conv(1, base)
        self.down2 = double_conv(base, base * 2)
        self.down3 = double_conv(base * 2, base * 4)
        self.bottom = double_conv(base * 4, base * 8)
        self.pool = nn.MaxPool2d(2)
        self.up3 = nn.ConvTranspose2d(base * 8, base * 4, 2, stride=2)
        self.conv3 = double_conv(base * 8, base * 4)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.conv2 = double_conv(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.conv1 = double_conv(base * 2, base)
        self.out = nn.Conv2d(base, n_classes, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(self.pool(d1))
        d3 = self.down3(self.pool(d2))
        x = self.bottom(self.pool(d3))
        x = self.conv3(torch.cat([self.up3(x), d3], dim=1))
        x = self.conv2(torch.cat([self.up2(x), d2], dim=1))
        x = self.conv1(torch.cat([self.up1(x), d1], dim=1))
        return self.out(x)


def iou(pred, mask):
    inter = ((pred == 1) & (mask == 1)).sum().item()
    union = ((pred == 1) | (mask == 1)).sum().item()
    return inter / max(union, 1)


torch.manual_seed(1)
train_loader = DataLoader(NucleiDataset(80, args.size, 0), batch_size=args.batch, shuffle=True)
val_loader = DataLoader(NucleiDataset(16, args.size, 1), batch_size=args.batch)
model = UNet(args.base)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    running = 0.0
    for images, masks in train_loader:
        logits = model(images)
        loss = criterion(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        scores = [iou(model(images).argmax(1), masks) for images, masks in val_loader]
    print(f"epoch {epoch + 1}: loss {running / len(train_loader):.3f}  val IoU {np.mean(scores):.3f}")
