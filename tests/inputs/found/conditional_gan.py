import torch
import torch.nn as nn


class ConditionalBatchNorm2d(nn.Module):
    def __init__(self, num_features, num_classes):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features, affine=False)
        self.embed = nn.Embedding(num_classes, num_features * 2)

    def forward(self, x, y):
        gamma, beta = self.embed(y).chunk(2, 1)
        return gamma[:, :, None, None] * self.bn(x) + beta[:, :, None, None]


class UpBlock(nn.Module):
    def __init__(self, inputs, outputs, num_classes):
        super().__init__()
        self.norm = ConditionalBatchNorm2d(inputs, num_classes)
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.up = nn.Upsample(scale_factor=2)

    def forward(self, x, y):
        return self.conv(self.up(torch.relu(self.norm(x, y))))


class Generator(nn.Module):
    def __init__(self, nz=64, num_classes=10, base=16):
        super().__init__()
        self.nz = nz
        self.fc = nn.Linear(nz, base * 4 * 4)
        self.base = base
        self.block1 = UpBlock(base, base // 2, num_classes)
        self.block2 = UpBlock(base // 2, base // 4, num_classes)
        self.to_rgb = nn.Conv2d(base // 4, 3, 3, padding=1)

    def forward(self, z, labels):
        h = self.fc(z).view(-1, self.base, 4, 4)
        h = self.block2(self.block1(h, labels), labels)
        return torch.tanh(self.to_rgb(h))
