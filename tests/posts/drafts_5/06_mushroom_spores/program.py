from dataclasses import dataclass

import numpy as np
import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    backbone: str = "resnet18"
    num_classes: int = 5
    image_size: int = 64
    batch_size: int = 16
    epochs: int = 2
    lr: float = 1e-3
    drop: float = 0.2
    seed: int = 4


class SporeImages(Dataset):
    """Grayscale microscope crops of spores, one size per genus."""

    def __init__(self, n, cfg, seed):
        rng = np.random.default_rng(seed)
        self.cfg = cfg
        self.labels = rng.integers(0, cfg.num_classes, n)
        self.crops = []
        yy, xx = np.mgrid[:cfg.image_size, :cfg.image_size]
        centre = cfg.image_size / 2
        for label in self.labels:
            radius = 6 + 4 * label + rng.uniform(-1, 1)
            squash = rng.uniform(0.8, 1.2)
            inside = ((xx - centre) ** 2 * squash + (yy - centre) ** 2) < radius ** 2
            crop = 0.7 + 0.05 * rng.standard_normal(inside.shape)
            crop[inside] -= 0.4
            self.crops.append(crop.astype(np.float32))

    def __len__(self):
        return len(self.crops)

    def __getitem__(self, i):
        crop = torch.from_numpy(self.crops[i])[None]
        return (crop - 0.6) / 0.2, int(self.labels[i])


class SporeClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = timm.create_model(cfg.backbone, pretrained=False, num_classes=0)
        self.neck = nn.Sequential(
            nn.Linear(self.backbone.num_features, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.Dropout(cfg.drop),
        )
        self.head = nn.Linear(128, cfg.num_classes)

    def forward(self, x):
        feats = self.backbone.forward_features(x)
        return self.head(self.neck(feats))


def train_one_epoch(model, loader, optimizer, criterion, device):
    model.train()
    meter = []
    for images, targets in loader:
        images, targets = images.to(device), targets.to(device)
        loss = criterion(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.append(loss.item())
    return np.mean(meter)


@torch.inference_mode()
def validate(model, loader, device):
    model.eval()
    good, total = 0, 0
    for images, targets in loader:
        logits = model(images.to(device))
        good += (logits.argmax(1).cpu() == targets).sum().item()
        total += targets.numel()
    return good / total


def main(cfg):
    torch.manual_seed(cfg.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_loader = DataLoader(SporeImages(192, cfg, 0), cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(SporeImages(64, cfg, 1), cfg.batch_size)
    model = SporeClassifier(cfg).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(cfg.epochs):
        loss = train_one_epoch(model, train_loader, optimizer, criterion, device)
        print(f"[{epoch + 1}/{cfg.epochs}] loss {loss:.3f} val {validate(model, val_loader, device):.3f}")


if __name__ == "__main__":
    main(Config())
