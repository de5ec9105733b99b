import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class CellDetectionDataset(Dataset):
    """Microscope images with the boxes (x1, y1, x2, y2) of their cells."""

    def __init__(self, num_images=24, size=64):
        self.size = size
        self.samples = []
        rnd = random.Random(0)
        for i in range(num_images):
            boxes = []
            for _ in range(1 + i % 4):
                x, y = rnd.randint(0, size - 17), rnd.randint(0, size - 17)
                boxes.append([x, y, x + rnd.randint(6, 16), y + rnd.randint(6, 16)])
            self.samples.append(boxes)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        boxes = torch.tensor(self.samples[idx], dtype=torch.float32)
        image = torch.rand(3, self.size, self.size) * 0.2
        for x1, y1, x2, y2 in boxes.int().tolist():
            image[:, y1:y2, x1:x2] += 0.7
        return image, boxes


def collate_fn(batch):
    images, boxes = zip(*batch)
    return torch.stack(images), list(boxes)


def center_heatmap(boxes_list, grid=16, stride=4):
    heatmap = torch.zeros(len(boxes_list), 1, grid, grid)
    for i, boxes in enumerate(boxes_list):
        centers = (boxes[:, :2] + boxes[:, 2:]) / 2
        cells = (centers / stride).long().clamp(max=grid - 1)
        heatmap[i, 0, cells[:, 1], cells[:, 0]] = 1.0
    return heatmap


class CenterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        )
        self.heatmap = nn.Conv2d(32, 1, 1)

    def forward(self, x):
        return self.heatmap(self.backbone(x))


torch.manual_seed(0)
dataset = CellDetectionDataset()
loader = DataLoader(dataset, batch_size=4, shuffle=True, collate_fn=collate_fn)
model = CenterNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    for images, boxes in loader:
        target = center_heatmap(boxes)
        loss = F.binary_cross_entropy_with_logits(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
