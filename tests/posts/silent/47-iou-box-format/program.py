import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class OneObject(Dataset):
    """32x32 image with a single bright box; annotation is COCO style (x, y, w, h) in [0, 1]."""

    def __init__(self, n=256):
        self.images = 0.1 * torch.randn(n, 1, 32, 32)
        self.boxes = torch.zeros(n, 4)
        for i in range(n):
            w, h = torch.randint(6, 16, (2,)).tolist()
            x = int(torch.randint(0, 32 - w, (1,)))
            y = int(torch.randint(0, 32 - h, (1,)))
            self.images[i, 0, y:y + h, x:x + w] += 1.0
            self.boxes[i] = torch.tensor([x, y, w, h]) / 32

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.boxes[i]


def xywh_to_xyxy(boxes):
    x, y, w, h = boxes.unbind(-1)
    return torch.stack([x, y, x + w, y + h], dim=-1)


def box_iou(a, b):
    """IoU of matching rows of two (N, 4) tensors of boxes (x1, y1, x2, y2)."""
    lt = torch.max(a[:, :2], b[:, :2])
    rb = torch.min(a[:, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, 0] * wh[:, 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a + area_b - inter + 1e-6)


class BoxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(32 * 64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return torch.sigmoid(self.fc(self.conv(x).flatten(1)))


torch.manual_seed(0)
train_loader = DataLoader(OneObject(), batch_size=32, shuffle=True)
val_loader = DataLoader(OneObject(64), batch_size=32)
model = BoxNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    for img, box in train_loader:
        loss = F.smooth_l1_loss(model(img), box, beta=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    ious = []
    with torch.no_grad():
        for img, box in val_loader:
            pred = model(img)
            ious.append(box_iou(pred, box))
    ious = torch.cat(ious)
    print(f"epoch {epoch} loss {loss.item():.4f} mIoU {ious.mean():.3f} AP50-ish {(ious > 0.5).float().mean():.3f}")
