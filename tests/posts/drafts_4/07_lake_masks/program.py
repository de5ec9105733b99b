import numpy as np
import torch
import torch.nn as nn
from dataclasses import dataclass
from torch.utils.data import Dataset, DataLoader, random_split

CLASSES = ("land", "water", "ice")


@dataclass
class Config:
    size: int = 64
    samples: int = 80
    batch_size: int = 8
    epochs: int = 3
    lr: float = 3e-3
    seed: int = 21


class LakeTiles(Dataset):
    def __init__(self, cfg):
        self.cfg = cfg

    def __len__(self):
        return self.cfg.samples

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        s = self.cfg.size
        yy, xx = np.mgrid[:s, :s]
        mask = np.zeros((s, s), dtype=np.int64)
        for value in (1, 2):
            cy, cx = rng.integers(10, s - 10, size=2)
            r = rng.integers(8, 18)
            mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = value
        palette = np.array([[0.4, 0.5, 0.2], [0.1, 0.2, 0.6], [0.8, 0.9, 0.9]])
        image = palette[mask] + rng.normal(0, 0.08, (s, s, 3))
        image = torch.from_numpy(image).float().permute(2, 0, 1)
        return image, torch.from_numpy(mask).unsqueeze(0)


def block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
    )


class LakeNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.down1 = block(3, 16)
        self.down2 = block(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.merge = block(32, 16)
        self.classifier = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        x = torch.cat([self.up(b), a], dim=1)
        return self.classifier(self.merge(x))


def iou_per_class(model, loader, num_classes):
    model.eval()
    inter = torch.zeros(num_classes)
    union = torch.zeros(num_classes)
    with torch.no_grad():
        for images, masks in loader:
            logits = model(images)
            pred = logits.argmax(dim=-1)
            for c in range(num_classes):
                p, t = pred == c, masks == c
                inter[c] += (p & t).sum()
                union[c] += (p | t).sum()
    return inter / union.clamp(min=1)


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    train_set, val_set = random_split(LakeTiles(cfg), [64, 16])
    train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=cfg.batch_size)

    model = LakeNet(len(CLASSES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)

    for epoch in range(cfg.epochs):
        model.train()
        for images, masks in train_loader:
            loss = criterion(model(images), masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        ious = iou_per_class(model, val_loader, len(CLASSES))
        report = ", ".join(f"{n} {v:.3f}" for n, v in zip(CLASSES, ious.tolist()))
        print(f"epoch {epoch}: loss {loss.item():.3f} | IoU {report}")
