import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, n=28 * 28, code=12):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, code))
        self.dec = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, n), nn.Sigmoid())

    def forward(self, x):
        return self.dec(self.enc(x)).view_as(x)


def min_max(m):
    lo, hi = m.min(), m.max()
    return (m - lo) / (hi - lo + 1e-8)


class Model(nn.Module):
    """Anomaly map of every inspected part, between 0 and 1."""

    def __init__(self):
        super().__init__()
        self.ae = AutoEncoder()
        self.blur = nn.AvgPool2d(5, stride=1, padding=2)

    def forward(self, image):
        error = (self.ae(image) - image).pow(2).mean(dim=1, keepdim=True)
        error = self.blur(error).squeeze(1)
        return min_max(error)


def example_inputs():
    image = torch.rand(5, 1, 28, 28)
    image[3] = 0.0
    return (image,)
