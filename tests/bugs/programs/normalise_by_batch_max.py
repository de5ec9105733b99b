import torch
import torch.nn as nn
import torch.nn.functional as F


class SaliencyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, 12, 3, stride=2, padding=1)
        self.dec = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, x):
        y = F.relu(self.enc(x))
        return F.relu(self.dec(y))


class Model(nn.Module):
    """Saliency maps between 0 and 1."""

    def __init__(self, size=16):
        super().__init__()
        self.size = size
        self.net = SaliencyNet()

    def forward(self, images):
        heat = self.net(images)
        peak = heat.max()
        heat = heat / (peak + 1e-8)
        return F.adaptive_avg_pool2d(heat, self.size)


def example_inputs():
    images = torch.rand(4, 3, 64, 64)
    images[1] *= 0.2  # one very dark picture
    return (images,)
