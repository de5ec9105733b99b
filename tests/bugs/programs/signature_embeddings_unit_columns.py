import torch
import torch.nn as nn
import torch.nn.functional as F


class SignatureNet(nn.Module):
    def __init__(self, in_channels, width, embedding_size):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(in_channels, width, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.embed = nn.Linear(2 * width, embedding_size)

    def forward(self, x):
        return F.normalize(self.embed(self.features(x)), p=2, dim=0)


class Model(nn.Module):
    """How alike two signatures are."""

    def __init__(self):
        super().__init__()
        self.tower = SignatureNet(in_channels=1, width=6, embedding_size=18)

    def forward(self, left, right):
        a = self.tower(left)
        b = self.tower(right)
        return (a * b).sum(dim=1)


def example_inputs():
    return torch.rand(7, 1, 28, 48), torch.rand(7, 1, 28, 48)
