import torch
import torch.nn as nn
import torch.nn.functional as F


class DownsampleA(nn.Module):
    def __init__(self, nIn, nOut, stride):
        super(DownsampleA, self).__init__()
        assert stride == 2
        self.avg = nn.AvgPool2d(kernel_size=1, stride=stride)

    def forward(self, x):
        x = self.avg(x)
        return torch.cat((x, x.mul(0)), 1)


class DownsampleC(nn.Module):
    def __init__(self, nIn, nOut, stride):
        super(DownsampleC, self).__init__()
        self.conv = nn.Conv2d(nIn, nOut, kernel_size=1, stride=stride, padding=0, bias=False)

    def forward(self, x):
        return self.conv(x)


class ResNetBasicblock(nn.Module):
    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super(ResNetBasicblock, self).__init__()
        self.conv_a = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn_a = nn.BatchNorm2d(planes)
        self.conv_b = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn_b = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        residual = x
        basicblock = F.relu(self.bn_a(self.conv_a(x)), inplace=True)
        basicblock = self.bn_b(self.conv_b(basicblock))
        if self.downsample is not None:
            residual = self.downsample(x)
        return F.relu(residual + basicblock, inplace=True)


class CifarResNet(nn.Module):
    def __init__(self, depth, num_classes, rate):
        super(CifarResNet, self).__init__()
        layer_blocks = (depth - 2) // 6
        widths = [int(round(w * (1 - rate))) for w in (16, 32, 64)]
        self.conv_1_3x3 = nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)
        self.bn_1 = nn.BatchNorm2d(widths[0])
        self.inplanes = widths[0]
        self.stage_1 = self._make_layer(widths[0], layer_blocks, 1)
        self.stage_2 = self._make_layer(widths[1], layer_blocks, 2)
        self.stage_3 = self._make_layer(widths[2], layer_blocks, 2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(widths[2], num_classes)

    def _make_layer(self, planes, blocks, stride):
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = DownsampleC(self.inplanes, planes, stride)
        layers = [ResNetBasicblock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        layers += [ResNetBasicblock(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = F.relu(self.bn_1(self.conv_1_3x3(x)), inplace=True)
        x = self.stage_3(self.stage_2(self.stage_1(x)))
        return self.classifier(self.avgpool(x).flatten(1))


def resnet20_small(num_classes=10):
    return CifarResNet(20, num_classes, rate=0.4)
