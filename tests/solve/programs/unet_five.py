"""U-Net with five levels that upsamples by interpolation."""

import torch
from torch import nn
from torch.nn import functional as F


class UNet(nn.Module):
    def __init__(self, depth=5, width=4):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=1) for _ in range(depth)
        )
        self.up = nn.ModuleList(
            nn.Conv2d(2 * width, width, 3, padding=1) for _ in range(depth)
        )
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        x = self.stem(x)
        skips = []
        for layer in self.down:
            skips.append(x)
            x = F.relu(layer(F.avg_pool2d(x, 2)))
        for layer in self.up:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = F.relu(layer(torch.cat([x, skips.pop()], 1)))
        return self.head(x)
