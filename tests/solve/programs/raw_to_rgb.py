"""From a raw Bayer image to RGB: packed by 2, worked on, unpacked again."""

from torch import nn


class RawToRGB(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.pack = nn.PixelUnshuffle(2)
        self.body = nn.Sequential(
            nn.Conv2d(4, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 12, 3, padding=1),
        )
        self.unpack = nn.PixelShuffle(2)

    def forward(self, raw):
        packed = self.pack(raw)
        return self.unpack(self.body(packed))
