import torch
import torch.nn as nn


class PoolMix(nn.Module):
    """Average pooling beside a strided convolution, concatenated."""

    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv1d(ch, ch, 5, stride=2, padding=2)
        self.pool = nn.AvgPool1d(3, stride=2, padding=2)

    def forward(self, x):
        a = self.conv(x)
        b = self.pool(x)
        return torch.cat([a, b], dim=1)


class Model(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.stem = nn.Conv1d(1, 8, 80, stride=16)
        self.mix1 = PoolMix(8)
        self.mix2 = PoolMix(16)
        self.head = nn.Sequential(
            nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(32, n_classes)
        )

    def forward(self, wave):
        x = self.stem(wave)
        x = self.mix2(torch.relu(self.mix1(x)))
        return self.head(x)


def example_inputs():
    return (torch.randn(3, 1, 2000),)
