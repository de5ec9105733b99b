"""Potholes, cracks and manholes: a set of boxes per picture, matched as in DETR."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch.utils.data import DataLoader, Dataset
from torchvision import ops

DEFECTS = ["pothole", "crack", "manhole"]
NOTHING = len(DEFECTS)
SIZE = 64


def survey_csv(n_images, seed):
    """annotations as exported by the inspection car: x, y, w, h as part of the picture"""
    rng = np.random.default_rng(seed)
    rows = []
    for image_id in range(n_images):
        for _ in range(rng.integers(1, 4)):
            w, h = rng.uniform(0.2, 0.45, 2)
            rows.append([image_id, rng.uniform(0, 1 - w), rng.uniform(0, 1 - h), w, h, rng.integers(0, 3)])
    return pd.DataFrame(rows, columns=["image_id", "x", "y", "w", "h", "defect"])


class RoadDataset(Dataset):
    def __init__(self, table, seed=0):
        self.groups = [g for _, g in table.groupby("image_id")]
        g = torch.Generator().manual_seed(seed)
        self.images = 0.6 + 0.05 * torch.randn(len(self.groups), 3, SIZE, SIZE, generator=g)
        for image, rows in zip(self.images, self.groups):
            for r in rows.itertuples():
                y0, x0 = int(r.y * SIZE), int(r.x * SIZE)
                y1, x1 = int((r.y + r.h) * SIZE), int((r.x + r.w) * SIZE)
                image[:, y0:y1, x0:x1] = 0.2
                image[int(r.defect), y0:y1, x0:x1] = 0.9

    def __len__(self):
        return len(self.groups)

    def __getitem__(self, i):
        rows = self.groups[i][["x", "y", "w", "h", "defect"]]
        return self.images[i], torch.tensor(rows.values, dtype=torch.float32)


def collate(batch):
    images, targets = zip(*batch)
    return torch.stack(images), list(targets)


class BoxSetNet(nn.Module):
    def __init__(self, n_queries=5):
        super().__init__()
        self.n_queries = n_queries
        layers, width = [], 3
        for out in (16, 32, 64, 64):
            layers += [nn.Conv2d(width, out, 3, stride=2, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
            width = out
        self.backbone = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, 256), nn.ReLU())
        self.box_head = nn.Linear(256, n_queries * 4)
        self.class_head = nn.Linear(256, n_queries * (len(DEFECTS) + 1))

    def forward(self, images):
        h = self.backbone(images)
        boxes = self.box_head(h).view(-1, self.n_queries, 4).sigmoid()
        logits = self.class_head(h).view(-1, self.n_queries, len(DEFECTS) + 1)
        return boxes, logits


def overlap(pred, true):
    return ops.box_iou(ops.box_convert(pred, "xywh", "xyxy"), ops.box_convert(true, "xywh", "xyxy"))


@torch.no_grad()
def match(boxes, logits, target):
    true_boxes, classes = target[:, :4], target[:, 4]
    scores = logits.softmax(-1)
    cost = torch.cdist(boxes, true_boxes, p=1) - overlap(boxes, true_boxes) - scores[:, classes]
    rows, cols = linear_sum_assignment(cost.numpy())
    return torch.as_tensor(rows), torch.as_tensor(cols)


def set_loss(boxes, logits, targets):
    loss = 0.0
    ious = []
    for b, l, target in zip(boxes, logits, targets):
        rows, cols = match(b, l, target)
        wanted = torch.full((len(b),), NOTHING)
        wanted[rows] = target[cols, 4].long()
        loss = loss + F.cross_entropy(l, wanted) + 5 * F.l1_loss(b[rows], target[cols, :4])
        ious.append(overlap(b[rows], target[cols, :4]).diagonal().mean().item())
    return loss / len(targets), np.mean(ious)


torch.manual_seed(4)
loader = DataLoader(RoadDataset(survey_csv(128, seed=4)), batch_size=16, shuffle=True)
model = BoxSetNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(12):
    model.train()
    losses, ious = [], []
    for images, targets in loader:
        boxes, logits = model(images)
        loss, iou = set_loss(boxes, logits, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        ious.append(iou)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.3f}, overlap of the matched boxes {np.mean(ious):.3f}")
