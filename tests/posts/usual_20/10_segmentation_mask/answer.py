import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class ScenesDataset(Dataset):
    def __init__(self, n=48, size=64, n_classes=4, seed=0):
        rng = np.random.default_rng(seed)
        self.images = rng.random((n, size, size, 3)).astype(np.float32)
        self.masks = np.zeros((n, size, size), dtype=np.uint8)
        for k in range(n):
            for c in range(1, n_classes):
                r, col = rng.integers(0, size - 16, 2)
                self.masks[k, r:r + 16, col:col + 16] = c
                self.images[k, r:r + 16, col:col + 16, c - 1] += 0.5

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = torch.from_numpy(self.images[idx]).permute(2, 0, 1)
        mask = torch.from_numpy(self.masks[idx]).long()
        return image, mask


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNetSmall(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.down1 = block(3, 8)
        self.down2 = block(8, 16)
        self.mid = block(16, 32)
        self.up2 = block(32 + 16, 16)
        self.up1 = block(16 + 8, 8)
        self.out = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        m = self.mid(F.max_pool2d(d2, 2))
        u2 = self.up2(torch.cat([F.interpolate(m, scale_factor=2), d2], dim=1))
        u1 = self.up1(torch.cat([F.interpolate(u2, scale_factor=2), d1], dim=1))
        return self.out(u1)


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total, correct, pixels = 0.0, 0, 0
    for images, masks in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, masks)
        loss.backward()
        optimizer.step()
        total += loss.item()
        correct += (logits.argmax(dim=1) == masks).sum().item()
        pixels += masks.numel()
    return total / len(loader), correct / pixels


torch.manual_seed(0)
loader = DataLoader(ScenesDataset(), batch_size=8, shuffle=True)
model = UNetSmall(n_classes=4)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    loss, acc = run_epoch(model, loader, criterion, optimizer)
    print(f"epoch {epoch}: loss {loss:.4f}, pixel acc {acc:.3f}")
