from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class SedConfig:
    """Sound event detection with a CRNN."""

    n_mels: int = 40
    channels: int = 16
    rnn_hidden: int = 20
    n_events: int = 15


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.bn = nn.BatchNorm2d(cout)
        self.pool = nn.MaxPool2d((1, 2))  # time is kept, mels are halved

    def forward(self, x):
        return self.pool(torch.relu(self.bn(self.conv(x))))


class Model(nn.Module):
    def __init__(self, cfg=SedConfig()):
        super().__init__()
        self.cnn = nn.Sequential(
            ConvBlock(1, cfg.channels), ConvBlock(cfg.channels, cfg.channels)
        )
        self.rnn = nn.LSTM(
            cfg.channels * cfg.n_mels,
            cfg.rnn_hidden,
            batch_first=True,
            bidirectional=True,
        )
        self.event = nn.Linear(2 * cfg.rnn_hidden, cfg.n_events)

    def forward(self, mel):
        # mel: (B, T, n_mels)
        x = self.cnn(mel.unsqueeze(1))
        B, C, T, M = x.shape
        x = x.permute(0, 2, 1, 3).reshape(B, T, C * M)
        x, _ = self.rnn(x)
        return torch.sigmoid(self.event(x))


def example_inputs():
    return (torch.randn(3, 50, 40),)
