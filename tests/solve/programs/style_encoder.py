import torch.nn as nn


class StyleEncoder(nn.Module):
    """Two strided convolutions with instance norm."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.norm1 = nn.InstanceNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.norm2 = nn.InstanceNorm2d(8)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x):
        x = self.conv1(x)
        x = self.act(self.norm1(x))
        x = self.conv2(x)
        x = self.act(self.norm2(x))
        return x, x.mean(dim=[2, 3])
