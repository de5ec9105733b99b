import numpy as np
import torch
import torch.nn as nn
import torchvision.transforms as T
from PIL import Image, ImageDraw
from torch.utils.data import Dataset, DataLoader


def draw_case(seed, size=64):
    rng = np.random.default_rng(seed)
    image = Image.fromarray(rng.integers(60, 110, (size, size, 3), dtype=np.uint8))
    mask = Image.new("L", (size, size), 0)
    x, y = rng.integers(2, size - 22, 2).tolist()
    r = int(rng.integers(12, 20))
    ImageDraw.Draw(image).ellipse([x, y, x + r, y + r], fill=(200, 120, 110))
    ImageDraw.Draw(mask).ellipse([x, y, x + r, y + r], fill=255)
    return image, mask


class PolypDataset(Dataset):
    def __init__(self, seeds, augment=False):
        self.cases = [draw_case(s) for s in seeds]
        self.augment = augment
        self.flip = T.RandomHorizontalFlip(p=0.5)
        self.to_tensor = T.ToTensor()

    def __len__(self):
        return len(self.cases)

    def __getitem__(self, idx):
        image, mask = self.cases[idx]
        if self.augment:
            image = self.flip(image)
            mask = self.flip(mask)
        return self.to_tensor(image), self.to_tensor(mask)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = conv(3, 16)
        self.bottom = nn.Sequential(nn.MaxPool2d(2), conv(16, 32), nn.ConvTranspose2d(32, 16, 2, stride=2))
        self.dec = conv(32, 16)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        e = self.enc(x)
        return self.out(self.dec(torch.cat([e, self.bottom(e)], dim=1)))


def dice(logits, mask, eps=1e-6):
    pred = (logits > 0).float()
    inter = (pred * mask).sum((1, 2, 3))
    return ((2 * inter + eps) / (pred.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).sum().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train_set = PolypDataset(range(64), augment=True)
    val_set = PolypDataset(range(1000, 1016))
    train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=8)
    model = MiniUNet()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        model.train()
        for image, mask in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(image), mask)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            score = sum(dice(model(image), mask) for image, mask in val_loader) / len(val_set)
        print(f"epoch {epoch}: loss {loss.item():.4f} val dice {score:.3f}")
