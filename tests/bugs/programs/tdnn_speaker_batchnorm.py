import torch
import torch.nn as nn
import torch.nn.functional as F


class FrameLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.proj = nn.Linear(n_in, n_out)
        self.bn = nn.BatchNorm1d(n_out)

    def forward(self, x):  # x: (B, T, F)
        y = F.relu(self.proj(x))
        return self.bn(y)


class StatsPool(nn.Module):
    def forward(self, x):
        return torch.cat([x.mean(dim=1), x.std(dim=1)], dim=1)


class Model(nn.Module):
    def __init__(self, n_mels=40, n_speakers=24):
        super().__init__()
        self.frame1 = FrameLayer(n_mels, 64)
        self.frame2 = FrameLayer(64, 64)
        self.pool = StatsPool()
        self.out = nn.Linear(128, n_speakers)

    def forward(self, mels):
        x = self.frame1(mels)
        x = self.frame2(x)
        return self.out(self.pool(x))


def example_inputs():
    return (torch.randn(5, 200, 40),)
