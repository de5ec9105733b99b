import torch
import torch.nn as nn


class BasicBlock1d(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv1d(in_planes, planes, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm1d(planes)
        self.conv2 = nn.Conv1d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm1d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv1d(in_planes, planes, 1, stride, bias=False),
                nn.BatchNorm1d(planes),
            )

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + self.shortcut(x))


class Model(nn.Module):
    def __init__(self, leads=12, planes=(16, 32, 64), n_classes=5):
        super().__init__()
        self.stem = nn.Conv1d(leads, planes[0], 7, stride=2, padding=3, bias=False)
        blocks, last = [], planes[0]
        for p in planes:
            blocks.append(BasicBlock1d(last, p, stride=2))
            last = p
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(last, n_classes)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        x = x.mean(dim=(2, 3))
        return self.fc(x)


def example_inputs():
    return (torch.randn(3, 12, 250),)
