import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SIZE = 48


class CellDataset(Dataset):
    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:SIZE, :SIZE]
        self.images = rng.normal(0.3, 0.1, (n, SIZE, SIZE, 3)).astype(np.float32)
        self.masks = np.zeros((n, SIZE, SIZE), dtype=np.float32)
        for i in range(n):
            cy, cx, r = rng.integers(10, SIZE - 10, 2).tolist() + [int(rng.integers(5, 10))]
            inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
            self.masks[i][inside] = 1
            self.images[i][inside] += np.array([0.3, 0.0, 0.2], dtype=np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = self.images[idx]
        image = torch.from_numpy(image).permute(2, 0, 1)
        mask = torch.from_numpy(self.masks[idx]).unsqueeze(0)
        return image, mask


def dice(logits, masks):
    pred = (logits > 0).float()
    return (2 * (pred * masks).sum() / (pred.sum() + masks.sum() + 1e-6)).item()


model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 1, 1),
)

torch.manual_seed(0)
train_loader = DataLoader(CellDataset(128), batch_size=16, shuffle=True)
val_loader = DataLoader(CellDataset(32, seed=1), batch_size=16)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    for images, masks in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(images), masks)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = [dice(model(images), masks) for images, masks in val_loader]
    print(f"epoch {epoch}: loss {loss.item():.4f} dice {np.mean(scores):.3f}")
