import torch
import torch.nn as nn


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, k=7):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(cin, cout, k, stride=2, padding=k // 2),
            nn.BatchNorm1d(cout),
            nn.LeakyReLU(0.1),
        )

    def forward(self, x):
        return self.net(x)


class Model(nn.Module):
    """12-lead ECG -> rhythm class. Input (batch, time, leads)."""

    def __init__(self, leads=12, classes=3):
        super().__init__()
        self.block1 = ConvBlock(leads, 32)
        self.block2 = ConvBlock(32, 64)
        self.head = nn.Linear(64, classes)

    def forward(self, ecg):
        x = ecg - ecg.mean(dim=1, keepdim=True)
        x = self.block1(x)
        x = self.block2(x)
        return self.head(x.mean(dim=-1))


def example_inputs():
    return (torch.randn(4, 500, 12),)
