import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

CLASSES = ["background", "soil", "road", "roof"]
COLORS = np.array([(20, 40, 20), (120, 90, 50), (110, 110, 110), (190, 70, 50)], np.uint8)


def write_scene(folder, i, rng, size=96):
    mask = np.zeros((size, size), np.uint8)
    for cls in (1, 2, 3):
        for _ in range(3):
            y, x = rng.integers(0, size - 20, 2)
            h, w = rng.integers(8, 20, 2)
            mask[y:y + h, x:x + w] = cls
    img = np.clip(COLORS[mask].astype(int) + rng.normal(0, 8, (size, size, 3)), 0, 255).astype(np.uint8)
    Image.fromarray(img).save(os.path.join(folder, "images", f"{i:03d}.png"))
    Image.fromarray(mask).save(os.path.join(folder, "masks", f"{i:03d}.png"))


class AerialDataset(Dataset):
    def __init__(self, root, names, out_size=64, augment=False):
        self.root, self.names, self.out_size, self.augment = root, names, out_size, augment

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        img = np.array(Image.open(os.path.join(self.root, "images", self.names[i])).convert("RGB"))
        mask = np.array(Image.open(os.path.join(self.root, "masks", self.names[i])))
        img = torch.from_numpy(img).permute(2, 0, 1).float() / 255.0
        mask = torch.from_numpy(mask)[None].float()
        size = (self.out_size, self.out_size)
        img = F.interpolate(img[None], size=size, mode="bilinear", align_corners=False)[0]
        mask = F.interpolate(mask[None], size=size, mode="nearest")[0]
        if self.augment and torch.rand(1).item() < 0.5:
            img, mask = img.flip(-1), mask.flip(-1)
        return (img - 0.4) / 0.25, mask[0].long()


class SmallFCN(nn.Module):
    def __init__(self, n_classes, w=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, w, 3, padding=1), nn.BatchNorm2d(w), nn.ReLU(),
            nn.Conv2d(w, w, 3, padding=1), nn.BatchNorm2d(w), nn.ReLU(),
            nn.Conv2d(w, n_classes, 1))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def per_class_iou(model, loader, n):
    model.eval()
    inter, union = torch.zeros(n), torch.zeros(n)
    for x, y in loader:
        p = model(x).argmax(1)
        for c in range(n):
            inter[c] += ((p == c) & (y == c)).sum()
            union[c] += ((p == c) | (y == c)).sum()
    return (inter / union.clamp(min=1)).tolist()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    root = tempfile.mkdtemp()
    for d in ("images", "masks"):
        os.makedirs(os.path.join(root, d))
    for i in range(60):
        write_scene(root, i, rng)
    names = sorted(os.listdir(os.path.join(root, "images")))
    train = DataLoader(AerialDataset(root, names[:48], augment=True), batch_size=8, shuffle=True)
    val = DataLoader(AerialDataset(root, names[48:]), batch_size=4)

    model = SmallFCN(len(CLASSES))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        ious = per_class_iou(model, val, len(CLASSES))
        print(f"epoch {epoch} loss {total / len(train.dataset):.4f} " +
              " ".join(f"{c} {v:.3f}" for c, v in zip(CLASSES, ious)))


if __name__ == "__main__":
    main()
