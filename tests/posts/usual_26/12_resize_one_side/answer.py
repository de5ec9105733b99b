import os
import random
import tempfile

import torch
from PIL import Image, ImageDraw
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

SHAPES = ["circle", "square", "triangle"]


def write_photos(folder, count, rng):
    rows = []
    for k in range(count):
        label = rng.randrange(len(SHAPES))
        w, h = rng.choice([(96, 72), (72, 96), (80, 80), (120, 90)])
        img = Image.new("RGB", (w, h), tuple(rng.randrange(60) for _ in range(3)))
        draw = ImageDraw.Draw(img)
        r = rng.randrange(12, 26)
        cx, cy = w // 2, h // 2
        color = tuple(rng.randrange(160, 256) for _ in range(3))
        if SHAPES[label] == "circle":
            draw.ellipse([cx - r, cy - r, cx + r, cy + r], fill=color)
        elif SHAPES[label] == "square":
            draw.rectangle([cx - r, cy - r, cx + r, cy + r], fill=color)
        else:
            draw.polygon([(cx, cy - r), (cx - r, cy + r), (cx + r, cy + r)], fill=color)
        name = f"{k:04d}.png"
        img.save(os.path.join(folder, name))
        rows.append((name, label))
    return rows


class PhotoFolder(Dataset):
    def __init__(self, folder, rows, transform):
        self.folder = folder
        self.rows = rows
        self.transform = transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        name, label = self.rows[index]
        with Image.open(os.path.join(self.folder, name)) as img:
            return self.transform(img.convert("RGB")), label


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()

        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))

        self.features = nn.Sequential(block(3, 16), block(16, 32), block(32, 48))
        self.classifier = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, len(SHAPES)))

    def forward(self, x):
        return self.classifier(self.features(x))


def test(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for images, labels in loader:
            hits += (model(images).argmax(1) == labels).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(4)
    rng = random.Random(4)
    tmp = tempfile.TemporaryDirectory()
    folder = tmp.name
    rows = write_photos(folder, 140, rng)

    normalize = T.Normalize([0.25, 0.25, 0.25], [0.3, 0.3, 0.3])
    train_tf = T.Compose([
        T.Resize((48, 48)),
        T.RandomHorizontalFlip(),
        T.ColorJitter(brightness=0.2),
        T.ToTensor(),
        normalize,
    ])
    test_tf = T.Compose([T.Resize((48, 48)), T.ToTensor(), normalize])

    train_loader = DataLoader(PhotoFolder(folder, rows[:110], train_tf), batch_size=16, shuffle=True)
    test_loader = DataLoader(PhotoFolder(folder, rows[110:], test_tf), batch_size=30)
    model = ShapeNet()
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        model.train()
        total = 0.0
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(train_loader):.3f}, test {test(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
