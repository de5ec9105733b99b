"""Scrap sorting (aluminium / copper / brass).  Forked from the 64px prototype, new camera gives more pixels."""
import json
import logging

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("scrap")

CONFIG = """
{
  "image_size": 80,
  "batch_size": 24,
  "lr": 0.001,
  "epochs": 2,
  "classes": ["aluminium", "copper", "brass"]
}
"""


class ScrapImages(Dataset):
    def __init__(self, n, size, n_classes, seed):
        rng = np.random.default_rng(seed)
        tint = np.array([[0.7, 0.7, 0.75], [0.8, 0.45, 0.3], [0.8, 0.7, 0.3]])
        self.labels = rng.integers(0, n_classes, n)
        base = rng.random((n, 1, size, size)) * 0.5
        self.images = (base + tint[self.labels][:, :, None, None] * 0.5).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), torch.tensor(self.labels[i])


def conv_block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.LeakyReLU(0.1),
        nn.MaxPool2d(kernel_size=2),
    )


class ScrapNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.block1 = conv_block(3, 16)
        self.block2 = conv_block(16, 32)
        self.block3 = conv_block(32, 32)
        self.fc1 = nn.Linear(32 * 10 * 10, 64)
        self.fc2 = nn.Linear(64, n_classes)

    def forward(self, x):
        x = self.block1(x)
        x = self.block2(x)
        x = self.block3(x)
        x = x.view(x.size(0), -1)
        x = torch.relu(self.fc1(x))
        return self.fc2(x)


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    cfg = json.loads(CONFIG)
    torch.manual_seed(0)
    n_classes = len(cfg["classes"])
    train_set = ScrapImages(240, cfg["image_size"], n_classes, seed=0)
    test_set = ScrapImages(72, cfg["image_size"], n_classes, seed=1)
    train_loader = DataLoader(train_set, cfg["batch_size"], shuffle=True)
    test_loader = DataLoader(test_set, cfg["batch_size"])
    model = ScrapNet(n_classes)
    log.info("parameters: %d", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    criterion = nn.CrossEntropyLoss()
    for epoch in range(cfg["epochs"]):
        model.train()
        for images, labels in train_loader:
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        log.info("epoch %d: test accuracy %.3f", epoch, evaluate(model, test_loader))


if __name__ == "__main__":
    main()
