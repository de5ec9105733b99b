"""Leaf diseases from photographs of 40 x 40, trained on random crops."""
import argparse
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RandomCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        top = random.randint(0, image.shape[0] - self.size)
        left = random.randint(0, image.shape[1] - self.size)
        return image[top:top + self.size, left:left + self.size]


class CenterCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        top, left = ((s - self.size) // 2 for s in image.shape[:2])
        return image[top:top + self.size, left:left + self.size]


class ToTensor:
    def __call__(self, image):
        return torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32) / 255)


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return image


class Leaves(Dataset):
    def __init__(self, count, transform, seed):
        rng = np.random.default_rng(seed)
        self.disease = rng.integers(0, 4, count)
        self.images = rng.integers(0, 120, (count, 40, 40, 3), dtype=np.uint8)
        self.images[..., 1] += (self.disease * 30).astype(np.uint8)[:, None, None]
        self.transform = transform

    def __len__(self):
        return len(self.disease)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.disease[i])


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(16 * 4 * 4, 4))

    def forward(self, x):
        return self.classifier(self.features(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--crop", type=int, default=32)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    train_transform = Compose(RandomCrop(args.crop), ToTensor())
    val_transform = Compose(ToTensor())
    train_loader = DataLoader(Leaves(40, train_transform, 0), batch_size=10, shuffle=True)
    val_loader = DataLoader(Leaves(16, val_transform, 1), batch_size=8)
    model = LeafNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
        print(f"epoch {epoch} loss {loss.item():.4f} right {right}/{len(val_loader.dataset)}")


if __name__ == "__main__":
    main()
