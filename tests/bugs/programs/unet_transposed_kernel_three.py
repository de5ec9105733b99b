import torch
import torch.nn as nn


def double_conv(in_c, out_c):
    return nn.Sequential(
        nn.Conv2d(in_c, out_c, 3, padding=1),
        nn.BatchNorm2d(out_c),
        nn.ReLU(inplace=True),
        nn.Conv2d(out_c, out_c, 3, padding=1),
        nn.ReLU(inplace=True),
    )


class Up(nn.Module):
    def __init__(self, in_c, out_c):
        super().__init__()
        self.up = nn.ConvTranspose2d(in_c, out_c, 3, stride=2, padding=1)
        self.conv = double_conv(2 * out_c, out_c)

    def forward(self, x, skip):
        x = self.up(x)
        x = torch.cat((skip, x), dim=1)
        return self.conv(x)


class Model(nn.Module):
    """Nuclei segmentation."""

    def __init__(self, in_c=1, base=8, n_classes=2):
        super().__init__()
        self.d1 = double_conv(in_c, base)
        self.d2 = double_conv(base, base * 2)
        self.d3 = double_conv(base * 2, base * 4)
        self.pool = nn.MaxPool2d(2)
        self.u2 = Up(base * 4, base * 2)
        self.u1 = Up(base * 2, base)
        self.last = nn.Conv2d(base, n_classes, 1)

    def forward(self, x):
        c1 = self.d1(x)
        c2 = self.d2(self.pool(c1))
        c3 = self.d3(self.pool(c2))
        x = self.u2(c3, c2)
        x = self.u1(x, c1)
        return self.last(x)


def example_inputs():
    return (torch.randn(2, 1, 40, 48),)
