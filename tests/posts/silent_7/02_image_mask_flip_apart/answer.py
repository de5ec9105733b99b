import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


def make_scene(rng, size=32):
    image = rng.normal(0.0, 0.25, (1, size, size))
    mask = np.zeros((1, size, size))
    h, w = rng.integers(6, 14, size=2)
    top, left = rng.integers(0, size - 14, size=2)
    image[0, top:top + h, left:left + w] += 1.0
    mask[0, top:top + h, left:left + w] = 1.0
    return image.astype(np.float32), mask.astype(np.float32)


class LesionDataset(Dataset):
    def __init__(self, count, seed, train):
        rng = np.random.default_rng(seed)
        self.samples = [make_scene(rng) for _ in range(count)]
        self.train = train
        self.augment = transforms.Compose([
            transforms.RandomHorizontalFlip(p=0.5),
            transforms.RandomVerticalFlip(p=0.5),
        ])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        image, mask = self.samples[index]
        image = torch.from_numpy(image)
        mask = torch.from_numpy(mask)
        if self.train:
            both = self.augment(torch.cat([image, mask]))
            image, mask = both[:1], both[1:]
        return image, mask


class SmallUNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.enc1 = nn.Conv2d(1, width, 3, padding=1)
        self.enc2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.dec = nn.Conv2d(3 * width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = F.relu(self.enc1(x))
        b = F.relu(self.enc2(F.max_pool2d(a, 2)))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(F.relu(self.dec(torch.cat([a, b], dim=1))))


def iou(model, loader):
    model.eval()
    inter = union = 0.0
    with torch.no_grad():
        for image, mask in loader:
            pred = torch.sigmoid(model(image)) > 0.5
            target = mask > 0.5
            inter += (pred & target).sum().item()
            union += (pred | target).sum().item()
    return inter / max(union, 1.0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(LesionDataset(320, 0, train=True), batch_size=16, shuffle=True)
    val_loader = DataLoader(LesionDataset(80, 1, train=False), batch_size=40)
    model = SmallUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for image, mask in train_loader:
            loss = F.binary_cross_entropy_with_logits(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: bce {total / len(train_loader):.4f}  val IoU {iou(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
