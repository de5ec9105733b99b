import torch
from torch import nn


class TemporalDifference(nn.Module):
    """Emphasises what moves: each frame minus its clip's average frame."""

    def forward(self, feats):
        average = feats.mean(0, keepdim=True)
        return feats - average


class Model(nn.Module):
    def __init__(self, n_classes=7, dim=18):
        super().__init__()
        self.frame = nn.Sequential(
            nn.Conv2d(3, dim, 5, stride=3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )
        self.diff = TemporalDifference()
        self.head = nn.Linear(2 * dim, n_classes)

    def forward(self, clips):
        b, t = clips.shape[:2]
        f = self.frame(clips.flatten(0, 1)).flatten(1)
        f = f.unflatten(0, (b, t))
        motion = self.diff(f).abs()
        return self.head(torch.cat([f, motion], dim=-1).mean(dim=1))


def example_inputs():
    return (torch.rand(3, 8, 3, 32, 32),)
