import argparse
import resource
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class MyBatchNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        if self.training:
            mean = x.mean(dim=(0, 2, 3))
            var = x.var(dim=(0, 2, 3), unbiased=False)
            n = x.numel() / x.size(1)
            self.running_mean = self.momentum * mean.detach() + (1 - self.momentum) * self.running_mean
            self.running_var = self.momentum * var.detach() * n / (n - 1) + (1 - self.momentum) * self.running_var
        else:
            mean, var = self.running_mean, self.running_var
        x = (x - mean[None, :, None, None]) / torch.sqrt(var[None, :, None, None] + self.eps)
        return x * self.weight[None, :, None, None] + self.bias[None, :, None, None]


class SmallConvNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1, bias=False), MyBatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, padding=1, bias=False), MyBatchNorm2d(16)
        self.conv3, self.bn3 = nn.Conv2d(16, 32, 3, padding=1, bias=False), MyBatchNorm2d(32)
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.bn3(self.conv3(x)))
        return self.fc(x.mean(dim=(2, 3)))


def fake_digits(n, seed):
    rng = np.random.default_rng(seed)
    templates = np.random.default_rng(42).random((10, 16, 16)) > 0.6
    labels = rng.integers(0, 10, size=n)
    images = templates[labels] + rng.normal(0, 0.6, size=(n, 16, 16))
    return TensorDataset(torch.tensor(images[:, None], dtype=torch.float32), torch.tensor(labels))


def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(fake_digits(4800, 0), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(fake_digits(500, 1), batch_size=100)
    model = SmallConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        start = time.time()
        loss = train_epoch(model, train_loader, optimizer)
        acc = test(model, test_loader)
        print(f"epoch {epoch + 1}: loss {loss:.4f}, acc {acc:.3f}, {time.time() - start:.1f}s, {memory_mb():.1f} MB")


if __name__ == "__main__":
    main()
