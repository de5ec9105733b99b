import os
import tempfile
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CKPT = os.path.join(tempfile.mkdtemp(), "aog_small.pth.tar")


class AOGBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        half = cout // 2
        self.left = nn.Conv2d(cin, half, 1, stride=stride, bias=False)
        self.right = nn.Conv2d(cin, cout - half, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(cout)
        self.out = nn.Conv2d(cout, cout, 1, bias=False)

    def forward(self, x):
        y = torch.cat([self.left(x), self.right(x)], dim=1)
        return F.relu(self.out(F.relu(self.norm(y))))


class AOGSmall(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.stage0 = AOGBlock(16, 32, 2)
        self.stage1 = AOGBlock(32, 48, 2)
        self.classifier = nn.Linear(48, num_classes)

    def forward(self, x):
        x = self.stage1(self.stage0(self.stem(x)))
        return self.classifier(x.mean(dim=(2, 3)))


class Learner(nn.Module):
    """Keeps the network and its loss together, so that the loss is computed on each device."""

    def __init__(self, network, smoothing=0.1):
        super().__init__()
        self.network = network
        self.smoothing = smoothing

    def forward(self, x, target=None):
        logits = self.network(x)
        if target is None:
            return logits
        return F.cross_entropy(logits, target, label_smoothing=self.smoothing)


def make_split(n, seed):
    gen = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=gen)
    x = torch.randn(n, 3, 32, 32, generator=gen)
    x[:, 0] += y.view(-1, 1, 1) / 5.0
    return TensorDataset(x, y)


def train(epochs=2):
    learner = nn.DataParallel(Learner(AOGSmall()))
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    loader = DataLoader(make_split(256, 0), batch_size=32, shuffle=True)
    for epoch in range(epochs):
        learner.train()
        for x, y in loader:
            loss = learner(x, y).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", round(loss.item(), 4))
        torch.save({"epoch": epoch + 1, "state_dict": learner.state_dict()}, CKPT)


def load_network(path):
    network = AOGSmall()
    checkpoint = torch.load(path, map_location="cpu")
    new_state = OrderedDict()
    for key, value in checkpoint["state_dict"].items():
        new_state[key[15:]] = value
    network.load_state_dict(new_state)
    return network


def evaluate(network):
    network.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in DataLoader(make_split(128, 1), batch_size=64):
            hits += (network(x).argmax(1) == y).sum().item()
            total += y.numel()
    print("top1 %.2f" % (100.0 * hits / total))


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
    evaluate(load_network(CKPT))
