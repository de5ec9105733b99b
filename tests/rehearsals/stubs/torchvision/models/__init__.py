"""Two models, with torchvision's layers; weights are random, whatever is asked for."""

from enum import Enum

import torch
from torch import nn


class BasicBlock(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or inplanes != planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes, 1, stride, bias=False),
                nn.BatchNorm2d(planes),
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + identity)


class ResNet(nn.Module):
    def __init__(self, layers, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self.stage(64, 64, layers[0], 1)
        self.layer2 = self.stage(64, 128, layers[1], 2)
        self.layer3 = self.stage(128, 256, layers[2], 2)
        self.layer4 = self.stage(256, 512, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, num_classes)

    @staticmethod
    def stage(inplanes, planes, count, stride):
        first = BasicBlock(inplanes, planes, stride)
        return nn.Sequential(
            first, *(BasicBlock(planes, planes) for _ in range(count - 1))
        )

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class VGG(nn.Module):
    def __init__(self, widths, num_classes=1000):
        super().__init__()
        layers, channels = [], 3
        for width in widths:
            if width == "M":
                layers.append(nn.MaxPool2d(2, 2))
                continue
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            *(nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout()),
            *(nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout()),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


class ResNet18_Weights(Enum):
    IMAGENET1K_V1 = "resnet18"


class VGG16_Weights(Enum):
    IMAGENET1K_V1 = "vgg16"


def resnet18(weights=None, progress=True, **options):
    return ResNet([2, 2, 2, 2], options.get("num_classes", 1000))


def resnet34(weights=None, progress=True, **options):
    return ResNet([3, 4, 6, 3], options.get("num_classes", 1000))


def vgg16(weights=None, progress=True, **options):
    blocks = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]
    widths = [w for width, count in blocks for w in [width] * count + ["M"]]
    return VGG(widths, options.get("num_classes", 1000))
