import torch
import torch.nn as nn


class Model(nn.Module):
    """Six activities from a phone's accelerometer, windows of 128 samples."""

    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(
            nn.Conv1d(3, 32, kernel_size=7, stride=1, padding=3),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool1d(kernel_size=2, stride=2),
        )
        self.layer2 = nn.Sequential(
            nn.Conv1d(32, 64, kernel_size=5, stride=1, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.MaxPool1d(kernel_size=2, stride=2),
        )
        self.fc = nn.Linear(32 * 64, 6)

    def forward(self, x):
        out = self.layer1(x)
        out = self.layer2(out)
        out = out.reshape(out.size(0), -1)
        return self.fc(out)


def example_inputs():
    return (torch.randn(12, 3, 128),)
