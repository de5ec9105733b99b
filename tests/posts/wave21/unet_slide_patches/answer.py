import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class CellPatches(Dataset):
    """Microscopy-like patches with round cells and their masks."""

    def __init__(self, count, size, seed=0):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:size, :size]
        self.images = np.empty((count, 1, size, size), dtype=np.float32)
        self.masks = np.zeros((count, 1, size, size), dtype=np.float32)
        for i in range(count):
            for _ in range(rng.integers(3, 8)):
                cy, cx = rng.integers(0, size, size=2)
                radius = rng.integers(5, 14)
                self.masks[i, 0][(yy - cy) ** 2 + (xx - cx) ** 2 < radius ** 2] = 1.0
            self.images[i, 0] = 0.6 * self.masks[i, 0] + rng.normal(0.2, 0.15, (size, size))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), torch.from_numpy(self.masks[i])


def conv_block(in_ch, out_ch):
    return nn.Sequential(
        nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
        nn.Conv2d(out_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
    )


def up_conv(in_ch, out_ch):
    return nn.Sequential(
        nn.Upsample(scale_factor=2),
        nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, in_ch=1, out_ch=1, n1=8):
        super().__init__()
        f = [n1, n1 * 2, n1 * 4, n1 * 8, n1 * 16]
        self.pool = nn.MaxPool2d(2, 2)
        self.conv1 = conv_block(in_ch, f[0])
        self.conv2 = conv_block(f[0], f[1])
        self.conv3 = conv_block(f[1], f[2])
        self.conv4 = conv_block(f[2], f[3])
        self.conv5 = conv_block(f[3], f[4])
        self.up5, self.dec5 = up_conv(f[4], f[3]), conv_block(f[4], f[3])
        self.up4, self.dec4 = up_conv(f[3], f[2]), conv_block(f[3], f[2])
        self.up3, self.dec3 = up_conv(f[2], f[1]), conv_block(f[2], f[1])
        self.up2, self.dec2 = up_conv(f[1], f[0]), conv_block(f[1], f[0])
        self.out = nn.Conv2d(f[0], out_ch, 1)

    def forward(self, x):
        e1 = self.conv1(x)
        e2 = self.conv2(self.pool(e1))
        e3 = self.conv3(self.pool(e2))
        e4 = self.conv4(self.pool(e3))
        e5 = self.conv5(self.pool(e4))
        d5 = self.dec5(torch.cat((e4, self.up5(e5)), dim=1))
        d4 = self.dec4(torch.cat((e3, self.up4(d5)), dim=1))
        d3 = self.dec3(torch.cat((e2, self.up3(d4)), dim=1))
        d2 = self.dec2(torch.cat((e1, self.up2(d3)), dim=1))
        return self.out(d2)


def dice(logits, mask):
    pred = (logits > 0).float()
    return (2 * (pred * mask).sum() + 1) / (pred.sum() + mask.sum() + 1)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    losses, scores = [], []
    with torch.set_grad_enabled(optimizer is not None):
        for image, mask in loader:
            logits = model(image)
            loss = criterion(logits, mask)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
            scores.append(dice(logits, mask).item())
    return np.mean(losses), np.mean(scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)

    data = CellPatches(40, args.size)
    train_set, val_set = random_split(data, [32, 8])
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, args.batch_size)
    model = UNet()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        loss, score = run_epoch(model, train_loader, criterion, optimizer)
        val_loss, val_score = run_epoch(model, val_loader, criterion)
        print(f"{epoch}: train {loss:.4f}/{score:.3f}  val {val_loss:.4f}/{val_score:.3f}")
