import torch
import torch.nn as nn


class DoubleAttention(nn.Module):
    """Gathers features into a few global descriptors, then hands them out to every position."""

    def __init__(self, in_channels, c_m=32, c_n=16):
        super(DoubleAttention, self).__init__()
        self.c_m, self.c_n = c_m, c_n
        self.convA = nn.Conv2d(in_channels, c_m, kernel_size=1)
        self.convB = nn.Conv2d(in_channels, c_n, kernel_size=1)
        self.convV = nn.Conv2d(in_channels, c_n, kernel_size=1)
        self.expand = nn.Conv2d(c_m, in_channels, kernel_size=1)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        batch, _, h, w = x.size()
        feature_maps = self.convA(x).view(batch, self.c_m, h * w)
        attention_maps = self.softmax(self.convB(x)).view(batch, self.c_n, h * w)
        attention_vectors = self.softmax(self.convV(x)).view(batch, self.c_n, h * w)
        # step 1: gather over all positions
        gathered = torch.bmm(feature_maps, attention_maps.permute(0, 2, 1))
        # step 2: distribute
        out = torch.bmm(gathered, attention_vectors).view(batch, self.c_m, h, w)
        return x + self.expand(out)


class SmallVideoFrameNet(nn.Module):
    def __init__(self, num_classes=20):
        super(SmallVideoFrameNet, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 5, 4, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
        self.attend = DoubleAttention(64)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, num_classes))

    def forward(self, frames):
        return self.head(self.attend(self.stem(frames)))
