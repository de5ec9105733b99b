import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

IMG_H, IMG_W = 96, 160
STRIDE = 16
GRID_H, GRID_W = IMG_H // STRIDE, IMG_W // STRIDE
N_CLASSES = 3


class TrafficDataset(Dataset):
    """boxes are YOLO style: class, cx, cy, w, h, all relative to the image"""

    def __init__(self, n=32, seed=0):
        rng = np.random.default_rng(seed)
        self.images = rng.random((n, 3, IMG_H, IMG_W), dtype=np.float32)
        self.boxes = []
        for _ in range(n):
            k = rng.integers(1, 6)
            cls = rng.integers(0, N_CLASSES, (k, 1))
            center = rng.uniform(0.05, 0.95, (k, 2))
            wh = rng.uniform(0.05, 0.3, (k, 2))
            self.boxes.append(np.concatenate([cls, center, wh], axis=1))

    def __len__(self):
        return len(self.images)

    def encode(self, boxes):
        target = torch.zeros(5 + N_CLASSES, GRID_H, GRID_W)
        for cls, cx, cy, w, h in boxes:
            gx, gy = cx * GRID_W, cy * GRID_H
            col, row = int(gx), int(gy)
            target[0, row, col] = 1.0
            target[1, row, col] = gx - col
            target[2, row, col] = gy - row
            target[3, row, col] = w
            target[4, row, col] = h
            target[5 + int(cls), row, col] = 1.0
        return target

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), self.encode(self.boxes[i])


class GridDetector(nn.Module):
    def __init__(self):
        super().__init__()
        chans = [3, 16, 32, 64, 64]
        layers = []
        for a, b in zip(chans[:-1], chans[1:]):
            layers += [nn.Conv2d(a, b, 3, stride=2, padding=1), nn.BatchNorm2d(b), nn.LeakyReLU(0.1)]
        self.backbone = nn.Sequential(*layers)
        self.head = nn.Conv2d(64, 5 + N_CLASSES, 1)

    def forward(self, x):
        return self.head(self.backbone(x))


def detection_loss(pred, target):
    obj = target[:, 0]
    mask = obj > 0
    obj_loss = F.binary_cross_entropy_with_logits(pred[:, 0], obj)
    box_p = torch.sigmoid(pred[:, 1:5]).permute(0, 2, 3, 1)[mask]
    box_t = target[:, 1:5].permute(0, 2, 3, 1)[mask]
    cls_p = pred[:, 5:].permute(0, 2, 3, 1)[mask]
    cls_t = target[:, 5:].permute(0, 2, 3, 1)[mask].argmax(1)
    return obj_loss + 5.0 * F.mse_loss(box_p, box_t) + F.cross_entropy(cls_p, cls_t)


loader = DataLoader(TrafficDataset(), batch_size=8, shuffle=False)
model = GridDetector()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    total = 0.0
    for images, target in loader:
        loss = detection_loss(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
