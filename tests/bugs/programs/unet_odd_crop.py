import torch
from torch import nn


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1),
        nn.ReLU(inplace=True),
    )


class Up(nn.Module):
    def __init__(self, cin, cout, extra=0):
        super().__init__()
        self.up = nn.ConvTranspose2d(cin, cout, 2, stride=2, output_padding=extra)
        self.conv = double_conv(cout * 2, cout)

    def forward(self, x, skip):
        x = self.up(x)
        return self.conv(torch.cat([skip, x], dim=1))


class Model(nn.Module):
    def __init__(self, n_classes=1):
        super().__init__()
        self.inc = double_conv(1, 8)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), double_conv(8, 16))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), double_conv(16, 32))
        self.up1 = Up(32, 16)
        self.up2 = Up(16, 8)
        self.outc = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        s1 = self.inc(x)
        s2 = self.down1(s1)
        b = self.down2(s2)
        x = self.up1(b, s2)
        x = self.up2(x, s1)
        return self.outc(x)


def example_inputs():
    # cells cropped from the slide, 50 x 50
    return (torch.rand(1, 1, 50, 50),)
