from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ("background", "road", "building")
VOID = 255


@dataclass
class TrainConfig:
    size: int = 48
    width: int = 16
    batch_size: int = 8
    lr: float = 2e-3
    epochs: int = 2
    class_weights: tuple = (0.5, 1.0, 1.0)


class AerialScenes(Dataset):
    def __init__(self, n, size, seed):
        self.rng = np.random.default_rng(seed)
        self.pairs = [self._scene(size) for _ in range(n)]

    def _scene(self, size):
        mask = np.zeros((size, size), dtype=np.uint8)
        col = self.rng.integers(4, size - 10)
        mask[:, col:col + 6] = 1
        r, c = self.rng.integers(2, size - 16, 2)
        mask[r:r + 12, c:c + 12] = 2
        edges = np.zeros_like(mask, dtype=bool)
        edges[1:] |= mask[1:] != mask[:-1]
        edges[:, 1:] |= mask[:, 1:] != mask[:, :-1]
        image = np.stack([mask * 0.3, mask == 1, mask == 2]).astype(np.float32)
        image += self.rng.normal(0, 0.3, image.shape).astype(np.float32)
        mask[edges] = VOID
        return image, mask

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        image, mask = self.pairs[i]
        return torch.from_numpy(image), torch.from_numpy(mask).long()


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
    )


class SmallUNet(nn.Module):
    def __init__(self, width, n_classes):
        super().__init__()
        self.enc1 = double_conv(3, width)
        self.enc2 = double_conv(width, 2 * width)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.dec = double_conv(2 * width, width)
        self.out = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(self.pool(a))
        return self.out(self.dec(torch.cat([a, self.up(b)], dim=1)))


def mean_iou(model, loader):
    model.eval()
    inter, union = torch.zeros(len(CLASSES)), torch.zeros(len(CLASSES))
    with torch.no_grad():
        for image, mask in loader:
            pred = model(image).argmax(1)
            valid = mask != VOID
            for k in range(len(CLASSES)):
                p, t = (pred == k) & valid, (mask == k) & valid
                inter[k] += (p & t).sum()
                union[k] += (p | t).sum()
    return (inter / union.clamp(min=1)).tolist()


def main(cfg=TrainConfig()):
    torch.manual_seed(6)
    train_loader = DataLoader(AerialScenes(48, cfg.size, 0), cfg.batch_size, shuffle=True)
    val_loader = DataLoader(AerialScenes(16, cfg.size, 1), cfg.batch_size)
    model = SmallUNet(cfg.width, len(CLASSES))
    criterion = nn.CrossEntropyLoss(weight=torch.tensor(cfg.class_weights), ignore_index=VOID)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        model.train()
        for image, mask in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(image), mask)
            loss.backward()
            optimizer.step()
        ious = mean_iou(model, val_loader)
        print(epoch, f"{loss.item():.3f}", {c: round(v, 3) for c, v in zip(CLASSES, ious)})


if __name__ == "__main__":
    main()
