import torch
import torch.nn as nn


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(True)
    )


class RoadUNet(nn.Module):
    def __init__(self, in_ch, out_ch, base):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.enc1 = block(in_ch, base)
        self.enc2 = block(base, base * 2)
        self.bottom = block(base * 2, base * 4)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.dec2 = block(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 4, base, 2, stride=2)
        self.dec1 = block(base * 2, base)
        self.last = nn.Conv2d(base, out_ch, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        b = self.bottom(self.pool(e2))

        d2 = self.up2(b)
        d2 = self.dec2(torch.cat([d2, e2], dim=1))
        d1 = self.up1(d2)
        d1 = self.dec1(torch.cat([d1, e1], dim=1))
        return self.last(d1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = RoadUNet(in_ch=3, out_ch=1, base=8)

    def forward(self, x):
        return torch.sigmoid(self.unet(x))


def example_inputs():
    return (torch.rand(1, 3, 64, 64),)
