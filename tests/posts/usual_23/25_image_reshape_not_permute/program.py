"""Locate one object: a small network regresses its box from the image."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.ops import box_iou

SIZE = 64


def draw_sample(rng):
    image = rng.normal(0.4, 0.05, size=(SIZE, SIZE, 3)).astype(np.float32)
    w, h = rng.integers(12, 28, size=2)
    x0 = rng.integers(0, SIZE - w)
    y0 = rng.integers(0, SIZE - h)
    image[y0 : y0 + h, x0 : x0 + w] = [0.9, 0.2, 0.1]
    box = np.array([x0, y0, x0 + w, y0 + h], dtype=np.float32)
    return image, box


class BoxDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.samples = [draw_sample(rng) for _ in range(n)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        image, box = self.samples[i]
        image = torch.from_numpy(image).reshape(3, SIZE, SIZE)
        box = torch.from_numpy(box) / SIZE
        return image, box


class BoxNet(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for width in (16, 32, 64):
            layers += [nn.Conv2d(c, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            c = width
        self.backbone = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, x):
        return self.head(self.backbone(x))


def mean_iou(model, loader):
    model.eval()
    ious = []
    with torch.no_grad():
        for images, boxes in loader:
            pred = model(images).clamp(0, 1)
            ious.append(box_iou(pred * SIZE, boxes * SIZE).diagonal())
    return torch.cat(ious).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(BoxDataset(400, seed=0), batch_size=32, shuffle=True)
    val_loader = DataLoader(BoxDataset(100, seed=1), batch_size=50)

    model = BoxNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.SmoothL1Loss(beta=0.1)

    for epoch in range(8):
        model.train()
        total = 0.0
        for images, boxes in train_loader:
            loss = criterion(model(images), boxes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(images)
        print(f"epoch {epoch} loss {total / len(train_loader.dataset):.4f} val IoU {mean_iou(model, val_loader):.3f}")
