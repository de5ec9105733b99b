"""Image restoration that pads by reflection to a multiple of 8."""

import torch.nn as nn
import torch.nn.functional as F


class Restorer(nn.Module):
    def __init__(self, width=4, multiple=8):
        super().__init__()
        self.multiple = multiple
        self.intro = nn.Conv2d(3, width, 3, padding=1)
        self.downs = nn.ModuleList(nn.Conv2d(width, width, 2, 2) for _ in range(3))
        self.ups = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.PixelShuffle(2))
            for _ in range(3)
        )
        self.ending = nn.Conv2d(width, 3, 3, padding=1)

    def check_image_size(self, x):
        h, w = x.shape[-2:]
        pad_h = (self.multiple - h % self.multiple) % self.multiple
        pad_w = (self.multiple - w % self.multiple) % self.multiple
        return F.pad(x, (0, pad_w, 0, pad_h), mode="reflect")

    def forward(self, image):
        H, W = image.shape[-2:]
        padded = self.check_image_size(image)
        x = self.intro(padded)
        skips = []
        for down in self.downs:
            skips.append(x)
            x = down(x)
        for up in self.ups:
            x = up(x) + skips.pop()
        x = self.ending(x) + padded
        return x[:, :, :H, :W]
