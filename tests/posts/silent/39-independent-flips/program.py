import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class LesionDataset(Dataset):
    def __init__(self, n=160, size=24, train=True):
        self.train = train
        self.images = torch.randn(n, 1, size, size) * 0.3
        self.masks = torch.zeros(n, 1, size, size)
        for i in range(n):
            r, c = random.randint(0, size - 8), random.randint(0, size - 8)
            self.images[i, 0, r:r + 7, c:c + 7] += 1.5
            self.masks[i, 0, r:r + 7, c:c + 7] = 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image, mask = self.images[idx], self.masks[idx]
        if self.train:
            if random.random() < 0.5:
                image = torch.flip(image, dims=[-1])
            if random.random() < 0.5:
                mask = torch.flip(mask, dims=[-1])
            image = image + 0.05 * torch.randn_like(image)
        return image, mask


class TinyUNet(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU())
        self.enc2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(ch, 2 * ch, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * ch, ch, 2, stride=2)
        self.dec = nn.Sequential(nn.Conv2d(2 * ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 1))

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(e1)
        return self.dec(torch.cat([self.up(e2), e1], dim=1))


def dice_score(logits, mask):
    pred = (logits > 0).float()
    inter = (pred * mask).sum((1, 2, 3))
    return (2 * inter / (pred.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1e-6)).mean().item()


random.seed(0)
torch.manual_seed(0)
train_loader = DataLoader(LesionDataset(), batch_size=16, shuffle=True)
val_loader = DataLoader(LesionDataset(n=32, train=False), batch_size=32)
model = TinyUNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(4):
    model.train()
    for image, mask in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(image), mask)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = [dice_score(model(image), mask) for image, mask in val_loader]
    print(f"epoch {epoch} loss {loss.item():.4f} val dice {sum(scores) / len(scores):.3f}")
