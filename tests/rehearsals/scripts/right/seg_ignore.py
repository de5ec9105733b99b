import argparse

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Fields(Dataset):
    def __init__(self, n, seed, size=20):
        rng = np.random.default_rng(seed)
        self.x = np.empty((n, 4, size, size), np.float32)
        self.y = np.empty((n, size, size), np.uint8)
        spectra = np.random.default_rng(9).normal(size=(3, 4))
        for i in range(n):
            split_r, split_c = rng.integers(6, 14, 2)
            crop = rng.permutation(3)
            mask = np.full((size, size), crop[0])
            mask[split_r:] = crop[1]
            mask[:split_r, split_c:] = crop[2]
            self.x[i] = spectra[mask].transpose(2, 0, 1) + 0.8 * rng.normal(size=(4, size, size))
            mask[split_r - 1:split_r + 1] = 255
            mask[rng.random((size, size)) < 0.05] = 255
            self.y[i] = mask

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.from_numpy(self.y[i].astype(np.int64))


class UNet(nn.Module):
    def __init__(self, w=12):
        super().__init__()
        self.enc1 = self.block(4, w)
        self.enc2 = self.block(w, 2 * w)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * w, w, 2, stride=2)
        self.dec = self.block(2 * w, w)
        self.out = nn.Conv2d(w, 3, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())

    def forward(self, x):
        a = self.enc1(x)
        b = self.up(self.enc2(self.pool(a)))
        return self.out(self.dec(torch.cat([a, b], 1)))


def fast_hist(target, pred, n):
    keep = (target >= 0) & (target < n)
    return torch.bincount(n * target[keep] + pred[keep], minlength=n * n).reshape(n, n)


def dice_loss(logits, target, eps=1.0):
    keep = (target != 255).unsqueeze(1)
    onehot = nn.functional.one_hot(target.where(target != 255, 0), 3).permute(0, 3, 1, 2)
    p = logits.softmax(1) * keep
    inter = (p * onehot).sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (p.sum((0, 2, 3)) + (onehot * keep).sum((0, 2, 3)) + eps)).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=10)
    args = ap.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(Fields(64, 0), args.batch_size, shuffle=True)
    val_loader = DataLoader(Fields(23, 1), args.batch_size)
    net = UNet()
    ce = nn.CrossEntropyLoss(ignore_index=255)
    optimizer = optim.AdamW(net.parameters(), lr=5e-3)
    scheduler = optim.lr_scheduler.PolynomialLR(optimizer, args.epochs * len(train_loader), power=0.9)
    for epoch in range(args.epochs):
        net.train()
        for x, y in train_loader:
            logits = net(x)
            loss = ce(logits, y) + 0.5 * dice_loss(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        net.eval()
        hist = torch.zeros(3, 3, dtype=torch.long)
        with torch.no_grad():
            for x, y in val_loader:
                hist += fast_hist(y, net(x).argmax(1), 3)
        iou = hist.diag() / (hist.sum(0) + hist.sum(1) - hist.diag()).clamp(min=1)
        print(f"epoch {epoch} loss {loss.item():.4f} miou {iou.mean():.4f} pixel {hist.diag().sum() / hist.sum():.4f}")


if __name__ == "__main__":
    main()
