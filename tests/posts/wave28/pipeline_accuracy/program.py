import copy
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SmallResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))


def build_model(num_classes):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        SmallResBlock(16), nn.MaxPool2d(2), SmallResBlock(16),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, num_classes),
    )


def accuracy(pred, target):
    return (pred.argmax(dim=1) == target).float().mean()


def _throughput_helper(model, sample, repeats=5):
    with torch.no_grad():
        model(sample)
        start = time.perf_counter()
        for _ in range(repeats):
            model(sample)
    return (time.perf_counter() - start) / repeats * 1000


def _accuracy_helper(model, metric, data):
    metric_list = []
    with torch.no_grad():
        for data_input, target in data:
            metric_list.append(metric(model(data_input), target).numpy())
    return np.mean(metric_list)


class InferenceOptimizer:
    """Tries a few ways to run a trained model and reports latency and metric of each."""

    METHODS = ("original", "channels_last", "jit", "fused")

    def __init__(self):
        self.table = {}

    def _accelerate(self, method, model, sample):
        model = copy.deepcopy(model).eval()
        if method == "channels_last":
            return model.to(memory_format=torch.channels_last)
        if method == "jit":
            return torch.jit.trace(model, sample)
        if method == "fused":
            model[0] = nn.utils.fuse_conv_bn_eval(model[0], model[1])
            model[1] = nn.Identity()
        return model

    def optimize(self, model, training_data, validation_data, metric):
        sample = next(iter(training_data))[0]
        for method in self.METHODS:
            candidate = self._accelerate(method, model, sample)
            self.table[method] = (
                _throughput_helper(candidate, sample),
                _accuracy_helper(candidate, metric, validation_data),
            )

    def summary(self):
        print(f"{'method':<15}{'latency (ms)':>14}{'metric':>10}")
        for method, (latency, value) in self.table.items():
            print(f"{method:<15}{latency:>14.2f}{value:>10.4f}")


def flowers(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g).sort().values
    x = torch.randn(n, 3, 24, 24, generator=g)
    x[:, 0] += (y.float() * 0.35).view(-1, 1, 1)
    x[:, 1] -= ((y == 2).float() * 0.2).view(-1, 1, 1)
    return TensorDataset(x, y)


def train(model, loader, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(flowers(256, 0), batch_size=32, shuffle=True)
    valid_loader = DataLoader(flowers(101, 1), batch_size=32)
    net = build_model(num_classes=4)
    train(net, train_loader)
    opt = InferenceOptimizer()
    opt.optimize(net, train_loader, valid_loader, metric=accuracy)
    opt.summary()
