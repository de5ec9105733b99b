import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Two-stage SegNet."""

    def __init__(self, n_classes=4):
        super().__init__()
        self.enc1 = nn.Conv2d(3, 16, 3, padding=1)
        self.enc2 = nn.Conv2d(16, 16, 3, padding=1)
        self.dec2 = nn.Conv2d(16, 16, 3, padding=1)
        self.dec1 = nn.Conv2d(16, n_classes, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2, 2)

    def forward(self, x):
        x = F.relu(self.enc1(x))
        x, idx1 = self.pool(x)
        x = F.relu(self.enc2(x))
        x, idx2 = self.pool(x)

        x = self.unpool(x, idx1)
        x = F.relu(self.dec2(x))
        x = self.unpool(x, idx1)
        return self.dec1(x)


def example_inputs():
    return (torch.randn(2, 3, 32, 32),)
