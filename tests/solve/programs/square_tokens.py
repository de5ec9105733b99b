"""Tokens of a square image, mixed by a convolution."""

import torch
from torch import nn


class ConvPositionEncoding(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)

    def forward(self, tokens):
        B, N, C = tokens.shape
        side = int(N**0.5)
        image = tokens.transpose(1, 2).view(B, C, side, side)
        image = self.proj(image) + image
        return image.flatten(2).transpose(1, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(12, 8)
        self.position = ConvPositionEncoding(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.position(self.embed(x))
        return self.head(x.mean(dim=1))
