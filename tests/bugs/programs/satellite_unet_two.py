import torch
import torch.nn as nn


def block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(True)
    )


class UNet(nn.Module):
    def __init__(self, bands, base):
        super().__init__()
        self.enc1 = block(bands, base)
        self.enc2 = block(base, base * 2)
        self.mid = block(base * 2, base * 4)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.dec2 = block(base * 4 + base * 2, base * 2)
        self.dec1 = block(base * 2, base)
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        m = self.mid(self.pool(e2))
        d2 = self.dec2(torch.cat([self.up(m), e2], dim=1))
        d1 = self.dec1(torch.cat([self.up(d2), e1], dim=1))
        return self.head(d1)


class Model(nn.Module):
    def __init__(self, bands=5, base=12):
        super().__init__()
        self.unet = UNet(bands, base)
        self.loss = nn.BCEWithLogitsLoss()

    def forward(self, x, mask):
        pred = self.unet(x)
        return self.loss(pred, mask), pred.sigmoid() > 0.5


def example_inputs():
    return torch.rand(2, 5, 32, 32), torch.randint(0, 2, (2, 32, 32)).float()
