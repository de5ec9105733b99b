import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 4


class Shapes(Dataset):
    """Coloured rectangles on a noisy background, one class per colour."""

    def __init__(self, n, size=24, seed=0):
        rng = np.random.RandomState(seed)
        self.images = 0.2 * rng.randn(n, 3, size, size).astype(np.float32)
        self.masks = np.zeros((n, size, size), dtype=np.int64)
        for i in range(n):
            for c in range(1, NUM_CLASSES):
                h, w = rng.randint(5, 11, 2)
                top, left = rng.randint(0, size - h), rng.randint(0, size - w)
                self.images[i, :, top:top + h, left:left + w] *= 0.5
                self.images[i, c - 1, top:top + h, left:left + w] += 1.0
                self.masks[i, top:top + h, left:left + w] = c

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return torch.from_numpy(self.images[idx]), torch.from_numpy(self.masks[idx])


class SmallFCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.n_classes = n_classes
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        )
        self.score = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        out = self.score(self.features(x))
        n, c, h, w = out.size()
        out = out.permute(0, 2, 3, 1).reshape(-1, c)
        out = F.softmax(out, dim=1)
        out = out.view(n, h, w, c).permute(0, 3, 1, 2).contiguous()
        return out


def pixel_accuracy(model, loader):
    model.eval()
    good, total = 0, 0
    with torch.no_grad():
        for img, mask in loader:
            pred = model(img).argmax(1)
            good += (pred == mask).sum().item()
            total += mask.numel()
    return good / total


torch.manual_seed(0)
train_loader = DataLoader(Shapes(160, seed=0), batch_size=16, shuffle=True)
val_loader = DataLoader(Shapes(40, seed=1), batch_size=16)
model = SmallFCN(NUM_CLASSES)
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    model.train()
    losses = []
    for img, mask in train_loader:
        prob = model(img)
        loss = criterion(torch.log(prob + 1e-8), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: loss {np.mean(losses):.4f}, pixel acc {pixel_accuracy(model, val_loader):.4f}")
