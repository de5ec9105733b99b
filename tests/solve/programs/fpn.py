import torch.nn as nn
import torch.nn.functional as F


class FPN(nn.Module):
    """Feature pyramid over three stages of stride 2, 4 and 8."""

    def __init__(self, out_channels=8):
        super().__init__()
        self.stage1 = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.stage2 = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.stage3 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.lateral1 = nn.Conv2d(4, out_channels, 1)
        self.lateral2 = nn.Conv2d(8, out_channels, 1)
        self.lateral3 = nn.Conv2d(16, out_channels, 1)
        self.smooth = nn.Conv2d(out_channels, out_channels, 3, padding=1)

    def forward(self, x):
        c1 = F.relu(self.stage1(x))
        c2 = F.relu(self.stage2(c1))
        c3 = F.relu(self.stage3(c2))
        p3 = self.lateral3(c3)
        p2 = self.lateral2(c2) + F.interpolate(p3, scale_factor=2, mode="nearest")
        p1 = self.lateral1(c1) + F.interpolate(p2, scale_factor=2, mode="nearest")
        return [self.smooth(p1), self.smooth(p2), self.smooth(p3)]
