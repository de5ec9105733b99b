"""A reduction that joins a pooled branch and a convolved one."""

import torch
from torch import nn


class Reduction(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.pool = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.conv = nn.Conv2d(channels, channels, 2, stride=2)

    def forward(self, x):
        pooled = self.pool(x)
        convolved = self.conv(x)
        return torch.cat([pooled, convolved], dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.reduce = Reduction(4)
        self.head = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        x = self.reduce(torch.relu(self.stem(x)))
        return self.head(x)
