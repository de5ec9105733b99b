import torch
import torch.nn as nn
import torch.nn.functional as F


class DispHead(nn.Module):
    def __init__(self, in_ch):
        super().__init__()
        self.pad = nn.ReflectionPad2d(1)
        self.conv = nn.Conv2d(in_ch, 1, 3)

    def forward(self, x):
        return torch.sigmoid(self.conv(self.pad(x))).squeeze(1)


class Model(nn.Module):
    """Self-supervised depth: disparities of three scales at full size."""

    def __init__(self, widths=(8, 16, 24), lo=0.1, hi=100.0):
        super().__init__()
        self.lo, self.hi = 1 / hi, 1 / lo
        self.convs = nn.ModuleList()
        self.heads = nn.ModuleList()
        before = 3
        for w in widths:
            self.convs.append(nn.Conv2d(before, w, 3, stride=2, padding=1))
            self.heads.append(DispHead(w))
            before = w

    def forward(self, image):
        size = image.shape[-2:]
        x, depths = image, []
        for conv, head in zip(self.convs, self.heads):
            x = F.elu(conv(x))
            disp = head(x)
            disp = F.interpolate(disp, size, mode="bilinear", align_corners=False)
            depths.append(1 / (self.lo + (self.hi - self.lo) * disp))
        return torch.cat(depths, dim=1)


def example_inputs():
    return (torch.rand(2, 3, 32, 48),)
