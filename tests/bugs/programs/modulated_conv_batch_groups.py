import torch
import torch.nn as nn
import torch.nn.functional as F


class ModulatedConv(nn.Module):
    def __init__(self, cin, cout, k, style_dim, demodulate=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, cout, cin, k, k))
        self.affine = nn.Linear(style_dim, cin)
        self.demodulate = demodulate
        self.pad = k // 2
        self.affine.bias.data.fill_(1.0)

    def forward(self, x, style):
        b, cin, h, w = x.shape
        s = self.affine(style).view(b, 1, cin, 1, 1)
        weight = self.weight * s
        if self.demodulate:
            d = torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8)
            weight = weight * d.view(b, -1, 1, 1, 1)
        weight = weight.flatten(0, 1)
        x = x.reshape(1, b * cin, h, w)
        x = F.conv2d(x, weight, padding=self.pad, groups=b)
        return x.view(b, -1, *x.shape[-2:])


class Model(nn.Module):
    def __init__(self, style_dim=20):
        super().__init__()
        self.const = nn.Parameter(torch.randn(1, 8, 9, 9))
        self.mapping = nn.Sequential(nn.Linear(style_dim, style_dim), nn.LeakyReLU(0.2))
        self.conv = ModulatedConv(8, 12, 3, style_dim)
        self.noise = nn.Parameter(torch.zeros(()))

    def forward(self, z):
        style = self.mapping(z / z.pow(2).mean(dim=1, keepdim=True).sqrt())
        x = self.const.repeat(len(z), 1, 1, 1)
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = self.conv(x, style)
        return x + self.noise * torch.randn_like(x[:, :1])


def example_inputs():
    return (torch.randn(3, 20),)
