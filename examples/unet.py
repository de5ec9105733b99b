"""A small U-Net: three halvings, three doublings, a skip at each level."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class UNet(nn.Module):
    """Images to a map of two classes of the same size."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=1) for _ in range(3)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(width, width, 2, stride=2) for _ in range(3)
        )
        self.join = nn.ModuleList(
            nn.Conv2d(2 * width, width, 3, padding=1) for _ in range(3)
        )
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        skips = []
        for conv in self.down:
            skips.append(x)
            x = F.relu(conv(F.max_pool2d(x, 2)))
        for up, join in zip(self.up, self.join, strict=True):
            x = torch.cat([up(x), skips.pop()], dim=1)
            x = F.relu(join(x))
        return self.head(x)
