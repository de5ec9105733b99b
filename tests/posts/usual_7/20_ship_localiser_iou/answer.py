import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.ops import box_convert, box_iou

IMG_SIZE = 48


def make_radar_images(n, rng):
    """One ship per SAR chip. Boxes are kept like in the csv: centre x, centre y, width, height in pixels."""
    chips = rng.gamma(1.0, 0.08, size=(n, 1, IMG_SIZE, IMG_SIZE)).astype(np.float32)
    boxes = np.zeros((n, 4), np.float32)
    for i in range(n):
        w, h = rng.integers(8, 20, size=2)
        x1 = rng.integers(0, IMG_SIZE - w)
        y1 = rng.integers(0, IMG_SIZE - h)
        chips[i, 0, y1:y1 + h, x1:x1 + w] += rng.uniform(0.6, 1.0)
        boxes[i] = (x1 + w / 2, y1 + h / 2, w, h)
    return torch.from_numpy(chips), torch.from_numpy(boxes)


class ShipLocaliser(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.regressor = nn.Sequential(nn.Flatten(), nn.Linear(32 * 6 * 6, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, x):
        return torch.sigmoid(self.regressor(self.features(x)))


def mean_iou(model, loader):
    model.eval()
    ious = []
    with torch.no_grad():
        for chips, boxes in loader:
            pred = model(chips) * IMG_SIZE
            pred, boxes = box_convert(pred, "cxcywh", "xyxy"), box_convert(boxes, "cxcywh", "xyxy")
            ious.append(box_iou(pred, boxes).diagonal())
    ious = torch.cat(ious)
    return ious.mean().item(), (ious > 0.5).float().mean().item()


def crop_ship(chip, box):
    """cut-out for the annotation tool"""
    x1, y1, x2, y2 = box_convert(box, "cxcywh", "xyxy").round().int().clamp(0, IMG_SIZE).tolist()
    return chip[:, y1:y2, x1:x2]


rng = np.random.default_rng(12)
torch.manual_seed(12)
train_x, train_y = make_radar_images(800, rng)
test_x, test_y = make_radar_images(160, rng)
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(test_x, test_y), batch_size=80)

model = ShipLocaliser()
criterion = nn.SmoothL1Loss(beta=0.05)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    model.train()
    total = 0.0
    for chips, boxes in train_loader:
        loss = criterion(model(chips), boxes / IMG_SIZE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(chips)
    if epoch % 3 == 2:
        iou, hit = mean_iou(model, test_loader)
        print(f"epoch {epoch + 1:2d}  loss {total / len(train_x):.5f}  mean IoU {iou:.3f}  IoU>0.5: {hit:.2f}")

with torch.no_grad():
    box = model(test_x[:1])[0] * IMG_SIZE
print("predicted", [round(v, 1) for v in box.tolist()], "true", test_y[0].tolist())
print("cut-out", tuple(crop_ship(test_x[0], box).shape))
