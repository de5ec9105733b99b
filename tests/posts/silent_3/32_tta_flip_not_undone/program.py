import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 32


class Lesions(Dataset):
    def __init__(self, n, seed, augment=False):
        g = np.random.default_rng(seed)
        yy, xx = np.mgrid[0:SIZE, 0:SIZE]
        images, masks = [], []
        for _ in range(n):
            cx, cy = g.uniform(8, 24, 2)
            a, b, th = g.uniform(3, 7), g.uniform(3, 7), g.uniform(0, np.pi)
            u = (xx - cx) * np.cos(th) + (yy - cy) * np.sin(th)
            v = -(xx - cx) * np.sin(th) + (yy - cy) * np.cos(th)
            mask = (u / a) ** 2 + (v / b) ** 2 < 1
            images.append(0.8 * mask + g.normal(0, 0.7, mask.shape) + 0.3 * np.sin(xx / 5 + g.uniform(0, 6)))
            masks.append(mask)
        self.x = torch.tensor(np.stack(images)[:, None], dtype=torch.float32)
        self.y = torch.tensor(np.stack(masks)[:, None], dtype=torch.float32)
        self.augment = augment

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x, y = self.x[i], self.y[i]
        if self.augment and torch.rand(1).item() < 0.5:
            x, y = x.flip(-1), y.flip(-1)
        return x, y


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = conv(1, 12), conv(12, 24)
        self.mid = conv(24, 24)
        self.u1 = conv(48, 16)
        self.u2 = conv(28, 16)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        b = self.u1(torch.cat([F.interpolate(m, scale_factor=2), b], dim=1))
        return self.out(self.u2(torch.cat([F.interpolate(b, scale_factor=2), a], dim=1)))


def predict_tta(model, x):
    probs = torch.sigmoid(model(x))
    for dims in ([-1], [-2], [-2, -1]):
        probs = probs + torch.sigmoid(model(x.flip(dims)))
    return probs / 4


def dice(pred, target, eps=1.0):
    inter = (pred * target).sum((1, 2, 3))
    return ((2 * inter + eps) / (pred.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).sum().item()


torch.manual_seed(0)
train_loader = DataLoader(Lesions(400, seed=1, augment=True), batch_size=20, shuffle=True)
test = Lesions(100, seed=2)
model = MiniUNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in train_loader:
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}")

model.eval()
score = 0.0
with torch.no_grad():
    for x, y in DataLoader(test, batch_size=25):
        score += dice((predict_tta(model, x) > 0.5).float(), y)
print(f"test Dice with flip TTA: {score / len(test):.4f}")
