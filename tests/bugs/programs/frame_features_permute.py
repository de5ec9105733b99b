import torch
from torch import nn


class FrameEncoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, 4, stride=4)

    def forward(self, clip):
        b, t = clip.shape[:2]
        maps = self.conv(clip.flatten(0, 1))
        return maps.unflatten(0, (b, t)).flatten(-2)


class Model(nn.Module):
    """Tokens in the order (time, space) for the temporal transformer."""

    def __init__(self, dim=24):
        super().__init__()
        self.frames = FrameEncoder(dim)
        self.temporal = nn.TransformerEncoderLayer(dim, 2, 48, batch_first=True)

    def forward(self, clip):
        feats = self.frames(clip)
        tokens = feats.permute(0, 1, 3, 4, 2)
        tokens = tokens.flatten(1, -2)
        return self.temporal(tokens)


def example_inputs():
    return (torch.randn(2, 4, 3, 8, 8),)
