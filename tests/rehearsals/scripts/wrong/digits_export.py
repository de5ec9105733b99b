import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Strokes(Dataset):
    def __init__(self, train=True):
        rng = np.random.default_rng(0 if train else 1)
        count = 60 if train else 20
        self.targets = rng.integers(0, 10, count)
        self.data = rng.integers(0, 60, (count, 28, 28), dtype=np.uint8)
        for image, target in zip(self.data, self.targets):
            image[2 * target:2 * target + 3] = 255

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        image = torch.from_numpy(self.data[i]).unsqueeze(0).float() / 255
        return (image - 0.13) / 0.31, int(self.targets[i])


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 84)
        self.fc2 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    return loss.item()


def test(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(d).argmax(1) == t).sum().item() for d, t in loader)


def export(model, path):
    model.eval()
    example = torch.randn(1, 3, 28, 28)
    traced = torch.jit.trace(model, example)
    traced.save(path)
    print("exported", os.path.basename(path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", default=tempfile.mkdtemp())
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(Strokes(), batch_size=15, shuffle=True)
    test_loader = DataLoader(Strokes(train=False), batch_size=20)
    model = LeNet()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(args.epochs):
        print(epoch, f"{train(model, train_loader, optimizer):.4f}", test(model, test_loader))
    export(model, os.path.join(args.out, "lenet.pt"))
