"""Fine-tune a small pretrained network on flowers."""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader


class Backbone(nn.Module):
    def __init__(self, num_classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1, bias=False),
                                  nn.BatchNorm2d(12), nn.ReLU(inplace=True))
        self.layer1 = nn.Sequential(nn.Conv2d(12, 24, 3, 2, 1, bias=False),
                                    nn.BatchNorm2d(24), nn.ReLU(inplace=True))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(24, num_classes)

    def forward(self, x):
        x = self.layer1(self.stem(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Flowers(Dataset):
    def __init__(self, count, classes, rng):
        self.labels = rng.integers(0, classes, count)
        self.images = rng.normal(0, 1, (count, 3, 32, 32)).astype(np.float32)
        self.images += self.labels[:, None, None, None] / classes

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), int(self.labels[i])


def pretrained(folder):
    """A checkpoint of the backbone, as if it had been downloaded."""
    path = os.path.join(folder, "backbone.pth")
    if not os.path.exists(path):
        torch.save(Backbone().state_dict(), path)
    model = Backbone()
    model.load_state_dict(torch.load(path))
    return model


def main(args):
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    model = pretrained(tempfile.mkdtemp())
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    model.fc = nn.Linear(24, args.classes)

    loader = DataLoader(Flowers(64, args.classes, rng), batch_size=16, shuffle=True)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        running = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(f"epoch {epoch}: {running / len(loader):.4f}")
    torch.save(model.state_dict(), "flowers.pth")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
