import torch
from torch import nn


class PixelAttention(nn.Module):
    """Every pixel of a feature map looks at all the others (middle of a noise predictor)."""

    def __init__(self, channels, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, channels)
        self.query = nn.Conv1d(channels, channels, 1)
        self.key = nn.Conv1d(channels, channels, 1)
        self.value = nn.Conv1d(channels, channels, 1)
        self.back = nn.Conv1d(channels, channels, 1)

    def split(self, t):
        b, c, n = t.shape
        return t.view(b, self.heads, c // self.heads, n)

    def forward(self, maps):
        b, c, h, w = maps.shape
        flat = self.norm(maps).flatten(2)
        q, k, v = self.split(self.query(flat)), self.split(self.key(flat)), self.split(self.value(flat))
        scores = torch.einsum('bmci,bmcj->bijm', q, k) * (c // self.heads) ** -0.5
        share = scores.softmax(dim=1)
        seen = torch.einsum('bijm,bmcj->bmci', share, v).reshape(b, c, h * w)
        return maps + self.back(seen).view(b, c, h, w)


class NoiseMiddle(nn.Module):
    def __init__(self, channels=64):
        super().__init__()
        def block():
            return nn.Sequential(nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))
        self.first, self.second = block(), block()
        self.time = nn.Linear(32, channels)
        self.attention = PixelAttention(channels)

    def forward(self, maps, t):
        maps = maps + self.first(maps) + self.time(t)[:, :, None, None]
        maps = self.attention(maps)
        return maps + self.second(maps)
