import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 5


class StreetScenes(Dataset):
    """synthetic road scenes: 0 road, 1 sky, 2 building, 3 car, 4 pole"""

    def __init__(self, n, size=(48, 64), seed=0):
        rng = np.random.RandomState(seed)
        h, w = size
        self.items = []
        palette = np.array([[0.4, 0.4, 0.4], [0.5, 0.7, 0.9], [0.6, 0.4, 0.3], [0.7, 0.2, 0.2], [0.3, 0.3, 0.35]])
        for _ in range(n):
            mask = np.zeros((h, w), dtype=np.int64)
            horizon = rng.randint(h // 3, h // 2)
            mask[:horizon] = 1
            for _ in range(rng.randint(1, 4)):
                x, bw = rng.randint(0, w - 12), rng.randint(8, 14)
                mask[rng.randint(4, horizon):horizon, x:x + bw] = 2
            if rng.rand() < 0.7:
                y, x = rng.randint(horizon, h - 6), rng.randint(0, w - 10)
                mask[y:y + 5, x:x + 9] = 3
            x = rng.randint(0, w - 1)
            mask[horizon - 8:horizon + 4, x:x + 1] = 4
            image = palette[mask] + rng.normal(0, 0.15, size=(h, w, 3))
            self.items.append((image.astype(np.float32).transpose(2, 0, 1), mask))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, mask = self.items[i]
        return torch.from_numpy(image), torch.from_numpy(mask)


class FastSegNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
        )
        self.context = nn.Sequential(nn.Conv2d(32, 32, 3, padding=2, dilation=2), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.classifier = nn.Conv2d(32, classes, 1)

    def forward(self, x):
        size = x.shape[2:]
        x = self.classifier(self.context(self.down(x)))
        return F.interpolate(x, size, mode="bilinear", align_corners=True)


class SegmentationMetric:
    """pixel accuracy and mean intersection over union"""

    def __init__(self, nclass):
        self.nclass = nclass
        self.reset()

    def reset(self):
        self.total_correct, self.total_label = 0, 0
        self.total_inter, self.total_union = np.zeros(self.nclass), np.zeros(self.nclass)

    def update(self, logits, target):
        pred = logits.argmax(1)
        self.total_correct += (pred == target).sum().item()
        self.total_label += target.numel()
        for c in range(self.nclass):
            p, t = pred == c, target == c
            self.total_inter[c] += (p & t).sum().item()
            self.total_union[c] += (p | t).sum().item()

    def get(self):
        pix_acc = self.total_correct / (self.total_label + 1e-10)
        present = self.total_union > 0
        miou = (self.total_inter[present] / self.total_union[present]).mean()
        return pix_acc, miou


def validate(model, loader, metric):
    model.eval()
    metric.reset()
    with torch.no_grad():
        for image, target in loader:
            metric.update(model(image), target)
    return metric.get()


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(StreetScenes(200, seed=1), batch_size=8, shuffle=True, drop_last=True)
    val_loader = DataLoader(StreetScenes(40, seed=2), batch_size=4)
    model = FastSegNet(NUM_CLASSES)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    metric = SegmentationMetric(NUM_CLASSES)
    best = 0.0
    for epoch in range(6):
        model.train()
        for image, target in train_loader:
            loss = criterion(model(image), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        pix_acc, miou = validate(model, val_loader, metric)
        best = max(best, miou)
        print(f"epoch {epoch}: loss {loss.item():.3f} pixAcc {pix_acc:.3f} mIoU {miou:.3f} (best {best:.3f})")
