import functools
import torch
import torch.nn as nn


def conv3x3(in_planes, out_planes, stride=1, bias=True, dilation=1, padding=1):
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, bias=bias,
                     dilation=dilation, padding=padding)


def conv1x1(in_planes, out_planes):
    return nn.Conv2d(in_planes, out_planes, kernel_size=1)


class ConvMeanPool(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.conv = conv3x3(input_dim, output_dim)

    def forward(self, inputs):
        out = self.conv(inputs)
        return sum([out[:, :, ::2, ::2], out[:, :, 1::2, ::2],
                    out[:, :, ::2, 1::2], out[:, :, 1::2, 1::2]]) / 4.


class ResidualBlock(nn.Module):
    def __init__(self, input_dim, output_dim, resample=None, act=nn.ELU(),
                 normalization=nn.InstanceNorm2d, dilation=1):
        super().__init__()
        self.non_linearity = act
        self.resample = resample
        if resample == 'down':
            if dilation > 1:
                self.conv1 = conv3x3(input_dim, input_dim, dilation=dilation)
                self.normalize2 = normalization(input_dim)
                self.conv2 = conv3x3(input_dim, output_dim, dilation=dilation, padding=dilation)
                shortcut = functools.partial(conv3x3, dilation=dilation, padding=dilation)
            else:
                self.conv1 = conv3x3(input_dim, input_dim)
                self.normalize2 = normalization(input_dim)
                self.conv2 = ConvMeanPool(input_dim, output_dim)
                shortcut = ConvMeanPool
        else:
            self.conv1 = conv3x3(input_dim, output_dim)
            self.normalize2 = normalization(output_dim)
            self.conv2 = conv3x3(output_dim, output_dim)
            shortcut = conv1x1
        self.shortcut = shortcut(input_dim, output_dim) if output_dim != input_dim or resample else nn.Identity()
        self.normalize1 = normalization(input_dim)

    def forward(self, x):
        output = self.non_linearity(self.normalize1(x))
        output = self.conv1(output)
        output = self.non_linearity(self.normalize2(output))
        output = self.conv2(output)
        return self.shortcut(x) + output


class NCSN(nn.Module):
    def __init__(self, ngf=32, channels=3, num_scales=10):
        super().__init__()
        self.begin_conv = conv3x3(channels, ngf)
        self.res1 = nn.Sequential(ResidualBlock(ngf, ngf), ResidualBlock(ngf, ngf))
        self.res2 = nn.Sequential(ResidualBlock(ngf, 2 * ngf, 'down'), ResidualBlock(2 * ngf, 2 * ngf))
        self.res3 = ResidualBlock(2 * ngf, 2 * ngf, 'down', dilation=2)
        self.res4 = ResidualBlock(2 * ngf, 2 * ngf, 'down', dilation=4)
        self.up = nn.Upsample(scale_factor=2, mode='nearest')
        self.end_conv = conv3x3(2 * ngf, channels)
        self.register_buffer('sigmas', torch.logspace(0, -2, num_scales))

    def forward(self, x, y):
        h = 2 * x - 1.
        h = self.res2(self.res1(self.begin_conv(h)))
        h = self.res4(self.res3(h))
        score = self.end_conv(self.up(h))
        return score / self.sigmas[y].view(-1, 1, 1, 1)
