import torch
import torch.nn as nn
import torch.nn.functional as F


class CALayer(nn.Module):
    def __init__(self, channel, reduction=4):
        super(CALayer, self).__init__()
        self.conv_du = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channel, channel // reduction, 1), nn.ReLU(),
            nn.Conv2d(channel // reduction, channel, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.conv_du(x)


class CAB(nn.Module):
    def __init__(self, n_feat):
        super(CAB, self).__init__()
        self.body = nn.Sequential(nn.Conv2d(n_feat, n_feat, 3, padding=1), nn.PReLU(),
                                  nn.Conv2d(n_feat, n_feat, 3, padding=1), CALayer(n_feat))

    def forward(self, x):
        return self.body(x) + x


class DownSample(nn.Module):
    def __init__(self, in_channels, s_factor):
        super(DownSample, self).__init__()
        self.down = nn.Conv2d(in_channels, in_channels + s_factor, 3, stride=2, padding=1)

    def forward(self, x):
        return self.down(x)


class SkipUpSample(nn.Module):
    def __init__(self, in_channels, s_factor):
        super(SkipUpSample, self).__init__()
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode='bilinear', align_corners=False),
                                nn.Conv2d(in_channels + s_factor, in_channels, 1))

    def forward(self, x, y):
        x = self.up(x)
        x = x + y
        return x


class Restorer(nn.Module):
    """one stage of a deblurring network, three scales"""

    def __init__(self, n_feat=24, s_factor=12):
        super(Restorer, self).__init__()
        self.shallow = nn.Conv2d(3, n_feat, 3, padding=1)
        self.enc1, self.enc2 = CAB(n_feat), CAB(n_feat + s_factor)
        self.enc3 = CAB(n_feat + 2 * s_factor)
        self.down12, self.down23 = DownSample(n_feat, s_factor), DownSample(n_feat + s_factor, s_factor)
        self.up32, self.up21 = SkipUpSample(n_feat + s_factor, s_factor), SkipUpSample(n_feat, s_factor)
        self.tail = nn.Conv2d(n_feat, 3, 3, padding=1)

    def forward(self, img):
        h, w = img.shape[2:]
        img = F.pad(img, (0, -w % 4, 0, -h % 4), mode='reflect')
        x1 = self.enc1(self.shallow(img))
        x2 = self.enc2(self.down12(x1))
        x3 = self.enc3(self.down23(x2))
        x2 = self.up32(x3, x2)
        x1 = self.up21(x2, x1)
        return (self.tail(x1) + img)[:, :, :h, :w]
