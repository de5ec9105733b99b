import torch
from torch import nn


class InvertedResidual(nn.Module):
    def __init__(self, cin, cout, stride, expand):
        super().__init__()
        hidden = cin * expand
        self.use_res = stride == 1 and cin == cout
        self.expand = nn.Sequential(
            nn.Conv2d(cin, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(),
        )
        self.depthwise = nn.Conv2d(hidden, cout, 3, stride, 1, groups=hidden)
        self.project = nn.Conv2d(hidden, cout, 1, bias=False)

    def forward(self, x):
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.use_res else y


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            InvertedResidual(24, 40, stride=2, expand=6),
            InvertedResidual(40, 40, stride=1, expand=3),
        )

    def forward(self, x):
        return self.blocks(x)


def example_inputs():
    return (torch.randn(1, 24, 28, 28),)
