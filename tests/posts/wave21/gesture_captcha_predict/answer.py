import argparse

import numpy as np
import torch
import torch.nn as nn
from PIL import Image, ImageDraw
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

GESTURES = ["fist", "palm", "point", "ok"]
WIDTH, HEIGHT = 140, 88


def draw_gesture(label, rng):
    """Fake captcha picture: noisy background and one shape per gesture."""
    noise = rng.integers(0, 90, size=(HEIGHT, WIDTH, 3), dtype=np.uint8)
    img = Image.fromarray(noise)
    pen = ImageDraw.Draw(img)
    x, y = int(rng.integers(10, 80)), int(rng.integers(10, 40))
    color = tuple(int(c) for c in rng.integers(150, 255, size=3))
    if label == 0:
        pen.ellipse([x, y, x + 40, y + 40], fill=color)
    elif label == 1:
        pen.rectangle([x, y, x + 45, y + 35], fill=color)
    elif label == 2:
        pen.line([x, y, x + 45, y + 40], fill=color, width=6)
    else:
        pen.ellipse([x, y, x + 40, y + 40], outline=color, width=5)
    return img


class GestureSet(Dataset):
    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(GESTURES), size=n)
        self.images = [draw_gesture(l, rng) for l in self.labels]
        self.to_tensor = transforms.ToTensor()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.to_tensor(self.images[i]), int(self.labels[i])


class GestureNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def train(model, loader, epochs, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        print(f"epoch {epoch + 1}: loss {total / len(loader.dataset):.4f}")


def recognise(model, picture, device):
    picture = picture.resize((WIDTH, HEIGHT))
    image = transforms.Compose([transforms.ToTensor()])(np.array(picture)).to(device)
    image = torch.permute(image, (0, 1, 2)).unsqueeze(dim=0)
    model.eval()
    with torch.no_grad():
        scores = model(image).softmax(dim=1)[0]
    best = int(scores.argmax())
    return GESTURES[best], float(scores[best])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    loader = DataLoader(GestureSet(256), batch_size=args.batch_size, shuffle=True)
    model = GestureNet(len(GESTURES)).to(device)
    train(model, loader, args.epochs, device)

    rng = np.random.default_rng(99)
    for label in range(len(GESTURES)):
        captcha = draw_gesture(label, rng).resize((280, 176))
        name, score = recognise(model, captcha, device)
        print(f"{GESTURES[label]:>6} -> {name} ({score:.2f})")


if __name__ == "__main__":
    main()
