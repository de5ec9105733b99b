import torch
import torch.nn as nn


class DoubleConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_ch, out_ch, 3, padding=1),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.net(x)


class LesionUNet(nn.Module):
    def __init__(self, n_channels, n_classes, widths):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.down0 = DoubleConv(n_channels, widths[0])
        self.down1 = DoubleConv(widths[0], widths[1])
        self.down2 = DoubleConv(widths[1], widths[2])
        self.middle = DoubleConv(widths[2], widths[3])
        self.up2 = nn.ConvTranspose2d(widths[3], widths[2], 2, 2)
        self.conv2 = DoubleConv(widths[2], widths[2])
        self.up1 = nn.ConvTranspose2d(widths[3], widths[1], 2, 2)
        self.conv1 = DoubleConv(2 * widths[1], widths[1])
        self.up0 = nn.ConvTranspose2d(widths[1], widths[0], 2, 2)
        self.conv0 = DoubleConv(2 * widths[0], widths[0])
        self.final = nn.Conv2d(widths[0], n_classes, kernel_size=1)

    def forward(self, x):
        x0 = self.down0(x)
        x1 = self.down1(self.pool(x0))
        x2 = self.down2(self.pool(x1))
        y = self.middle(self.pool(x2))
        y = self.conv2(torch.cat([x2, self.up2(y)], dim=1))
        y = self.conv1(torch.cat([x1, self.up1(y)], dim=1))
        y = self.conv0(torch.cat([x0, self.up0(y)], dim=1))
        return self.final(y)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = LesionUNet(n_channels=3, n_classes=2, widths=[8, 12, 20, 32])

    def forward(self, x):
        return self.unet(x)


def example_inputs():
    return (torch.rand(2, 3, 32, 32),)
