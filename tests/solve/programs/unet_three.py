"""U-Net with three poolings, each step written out."""

import torch
import torch.nn as nn


def conv_block(inp, out):
    return nn.Sequential(
        nn.Conv2d(inp, out, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(out, out, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, n_channels=3, n_classes=2, w=4):
        super().__init__()
        self.enc1 = conv_block(n_channels, w)
        self.enc2 = conv_block(w, 2 * w)
        self.enc3 = conv_block(2 * w, 2 * w)
        self.middle = conv_block(2 * w, 2 * w)
        self.pool = nn.MaxPool2d(2)
        self.up3 = nn.ConvTranspose2d(2 * w, 2 * w, 2, stride=2)
        self.dec3 = conv_block(4 * w, 2 * w)
        self.up2 = nn.ConvTranspose2d(2 * w, 2 * w, 2, stride=2)
        self.dec2 = conv_block(4 * w, w)
        self.up1 = nn.ConvTranspose2d(w, w, 2, stride=2)
        self.dec1 = conv_block(2 * w, w)
        self.out = nn.Conv2d(w, n_classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        p1 = self.pool(e1)
        e2 = self.enc2(p1)
        p2 = self.pool(e2)
        e3 = self.enc3(p2)
        p3 = self.pool(e3)
        m = self.middle(p3)
        d3 = self.up3(m)
        d3 = self.dec3(torch.cat([d3, e3], dim=1))
        d2 = self.up2(d3)
        d2 = self.dec2(torch.cat([d2, e2], dim=1))
        d1 = self.up1(d2)
        d1 = self.dec1(torch.cat([d1, e1], dim=1))
        return self.out(d1)
