import torch
import torch.nn as nn
import torch.nn.functional as F


class ImagePooling(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.conv = nn.Conv2d(cin, cout, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        size = x.shape[-2:]
        y = F.relu(self.bn(self.conv(self.gap(x))))
        return F.interpolate(y, size=size, mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    def __init__(self, cin, cout=32, rates=(1, 6, 12)):
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Conv2d(cin, cout, 3, padding=r, dilation=r, bias=False) for r in rates
        )
        self.pool = ImagePooling(cin, cout)
        self.project = nn.Conv2d(cout * (len(rates) + 1), cout, 1)

    def forward(self, x):
        feats = [branch(x) for branch in self.branches]
        feats.append(self.pool(x))
        return self.project(torch.cat(feats, dim=1))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 48, 3, stride=4, padding=1)
        self.aspp = ASPP(48)

    def forward(self, x):
        return self.aspp(self.backbone(x))


def example_inputs():
    # one picture at a time, the GPU has only 4 GB
    return (torch.randn(1, 3, 64, 64),)
