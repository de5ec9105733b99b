import torch
import torch.nn as nn


class Model(nn.Module):
    """Plain regression with an MSE written out by hand."""

    def __init__(self, n_features=13):
        super().__init__()
        self.net = nn.Sequential(
            nn.BatchNorm1d(n_features),
            nn.Linear(n_features, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def loss(self, pred, target):
        return ((pred - target) ** 2).mean()

    def forward(self, x, y):
        pred = self.net(x)
        return self.loss(pred, y)


def example_inputs():
    x = torch.rand(24, 13)
    y = 3 * x[:, 0] - x[:, 5] + 20
    return x, y
