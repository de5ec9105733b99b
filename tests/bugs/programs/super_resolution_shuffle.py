import torch
import torch.nn as nn
import torch.nn.functional as F


class Upsampler(nn.Module):
    def __init__(self, scale, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 5, padding=2),
            nn.PReLU(),
            nn.Conv2d(width, width, 3, padding=1),
        )
        self.shuffle = nn.PixelShuffle(scale)

    def forward(self, x):
        x = self.body(x)
        return self.shuffle(x)


class Model(nn.Module):
    """ESPCN with a global bicubic residual."""

    def __init__(self, scale=3):
        super().__init__()
        self.scale = scale
        self.up = Upsampler(scale)

    def forward(self, low):
        residual = self.up(low)
        base = F.interpolate(low, scale_factor=2, mode="bicubic")
        return (base + residual).clamp(0, 1)


def example_inputs():
    return (torch.rand(1, 3, 20, 20),)
