import random
from dataclasses import dataclass
from typing import Dict, List, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GRID = 8
IMG = 128
STRIDE = IMG // GRID


@dataclass
class Record:
    image: np.ndarray
    annotations: List[Tuple[int, int, int, int]]


def make_shelf(rng: random.Random) -> Record:
    """A grey shelf picture with 0-4 bright products, boxes as (x1, y1, x2, y2)."""
    img = np.full((IMG, IMG, 3), 60, dtype=np.uint8)
    boxes = []
    for _ in range(rng.randint(0, 4)):
        w, h = rng.randint(12, 30), rng.randint(12, 30)
        x, y = rng.randint(0, IMG - w - 1), rng.randint(0, IMG - h - 1)
        img[y:y + h, x:x + w] = rng.randint(150, 255)
        boxes.append((x, y, x + w, y + h))
    return Record(img, boxes)


class ShelfDataset(Dataset):
    def __init__(self, records: List[Record]):
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, i: int):
        rec = self.records[i]
        image = torch.from_numpy(rec.image).permute(2, 0, 1).float() / 255.0
        target: Dict[str, torch.Tensor] = {
            "boxes": torch.tensor(rec.annotations, dtype=torch.float32).reshape(-1, 4),
            "image_id": torch.tensor(i),
        }
        return image, target


def collate(batch):
    images, targets = zip(*batch)
    return torch.stack(images), list(targets)


class TinyDetector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for out in (16, 32, 48, 64):
            layers += [nn.Conv2d(c, out, 3, stride=2, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
            c = out
        self.backbone = nn.Sequential(*layers)
        self.pred = nn.Conv2d(c, 5, 1)

    def forward(self, x):
        return self.pred(self.backbone(x)).permute(0, 2, 3, 1)


def encode(targets) -> Tuple[torch.Tensor, torch.Tensor]:
    obj = torch.zeros(len(targets), GRID, GRID)
    reg = torch.zeros(len(targets), GRID, GRID, 4)
    for b, t in enumerate(targets):
        boxes = t["boxes"]
        centers = (boxes[:, :2] + boxes[:, 2:]) / 2
        sizes = (boxes[:, 2:] - boxes[:, :2]) / IMG
        cells = (centers / STRIDE).long().clamp(max=GRID - 1)
        offsets = centers / STRIDE - cells
        obj[b, cells[:, 1], cells[:, 0]] = 1.0
        reg[b, cells[:, 1], cells[:, 0]] = torch.cat([offsets, sizes], dim=1)
    return obj, reg


def detection_loss(pred, targets):
    obj, reg = encode(targets)
    conf_loss = F.binary_cross_entropy_with_logits(pred[..., 0], obj)
    pos = obj.bool()
    box_loss = F.smooth_l1_loss(pred[..., 1:][pos], reg[pos], reduction="sum") / pos.sum().clamp(min=1)
    return conf_loss + box_loss


def main():
    rng = random.Random(5)
    torch.manual_seed(5)
    records = [make_shelf(rng) for _ in range(160)]
    loader = DataLoader(ShelfDataset(records), batch_size=16, shuffle=True, collate_fn=collate)
    model = TinyDetector()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        losses = []
        for images, targets in loader:
            loss = detection_loss(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: {np.mean(losses):.4f}")


if __name__ == "__main__":
    main()
