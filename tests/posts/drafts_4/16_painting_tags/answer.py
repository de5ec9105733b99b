import numpy as np
import torch
import torch.nn as nn
from PIL import Image, ImageDraw
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

TAGS = ["sun", "sea", "tree", "house"]

tfm = transforms.Compose([
    transforms.Resize(48),
    transforms.ToTensor(),
    transforms.Normalize(mean=[0.6, 0.6, 0.6], std=[0.2, 0.2, 0.2]),
])


class Paintings(Dataset):
    def __init__(self, n, seed, transform=None):
        self.tags = np.random.RandomState(seed).rand(n, len(TAGS)) < 0.4
        self.seed = seed
        self.transform = transform

    def __len__(self):
        return len(self.tags)

    def paint(self, i):
        rng = np.random.RandomState(self.seed * 10000 + i)
        base = tuple(int(v) for v in rng.randint(150, 200, 3))
        img = Image.new("RGB", (64, 64), base)
        draw = ImageDraw.Draw(img)
        dx = int(rng.randint(0, 8))
        if self.tags[i, 1]:
            draw.rectangle((0, 48, 63, 63), fill=(20, 60, 200))
        if self.tags[i, 0]:
            draw.ellipse((2 + dx, 2, 18 + dx, 18), fill=(250, 210, 20))
        if self.tags[i, 2]:
            draw.polygon([(34 + dx, 46), (44 + dx, 20), (54 + dx, 46)], fill=(20, 110, 30))
        if self.tags[i, 3]:
            draw.rectangle((6 + dx, 28, 24 + dx, 46), fill=(150, 30, 20))
        return img

    def __getitem__(self, i):
        img = self.paint(i)
        if self.transform:
            img = self.transform(img)
        return img, torch.tensor(self.tags[i], dtype=torch.float32)


class TagNet(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Linear(64, n_tags)

    def forward(self, x):
        x = self.body(x)
        return self.head(x)


def evaluate(model, loader):
    model.eval()
    tp = fp = fn = 0
    with torch.no_grad():
        for x, y in loader:
            pred = torch.sigmoid(model(x)) > 0.5
            truth = y > 0.5
            tp += (pred & truth).sum().item()
            fp += (pred & ~truth).sum().item()
            fn += (~pred & truth).sum().item()
    return 2 * tp / max(2 * tp + fp + fn, 1)


def train(epochs=5, lr=3e-3):
    torch.manual_seed(0)
    train_loader = DataLoader(Paintings(480, 1, tfm), batch_size=32, shuffle=True)
    val_loader = DataLoader(Paintings(120, 2, tfm), batch_size=32)
    model = TagNet(len(TAGS))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: loss {running / len(train_loader):.4f}  micro F1 {evaluate(model, val_loader):.3f}")
    return model


if __name__ == "__main__":
    train()
