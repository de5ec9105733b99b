"""The U-Net of the paper: convolutions without padding, skips cropped to fit."""

import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3)
        self.conv2 = nn.Conv2d(cout, cout, 3)

    def forward(self, x):
        x = self.conv1(x).relu()
        return self.conv2(x).relu()


def center_crop(x, height, width):
    top = (x.shape[2] - height) // 2
    left = (x.shape[3] - width) // 2
    return x[:, :, top : top + height, left : left + width]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1 = Block(1, 4)
        self.enc2 = Block(4, 8)
        self.mid = Block(8, 8)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.dec2 = Block(16, 8)
        self.up1 = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.dec1 = Block(8, 4)
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        s1 = self.enc1(x)
        s2 = self.enc2(self.pool(s1))
        x = self.up2(self.mid(self.pool(s2)))
        x = self.dec2(torch.cat([center_crop(s2, *x.shape[2:]), x], dim=1))
        x = self.up1(x)
        x = self.dec1(torch.cat([center_crop(s1, *x.shape[2:]), x], dim=1))
        return self.head(x)
