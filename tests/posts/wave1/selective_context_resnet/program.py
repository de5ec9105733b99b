import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfCalibrated(nn.Module):
    """half of the channels are gated by a pooled copy of themselves"""

    def __init__(self, planes, pooling_r=4):
        super(SelfCalibrated, self).__init__()
        self.k2 = nn.Sequential(
            nn.AvgPool2d(kernel_size=pooling_r, stride=pooling_r),
            nn.Conv2d(planes, planes, 3, padding=1, bias=False),
            nn.BatchNorm2d(planes),
        )
        self.k3 = nn.Sequential(nn.Conv2d(planes, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes))
        self.k4 = nn.Sequential(nn.Conv2d(planes, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        gate = torch.sigmoid(x + F.interpolate(self.k2(x), x.size()[2:]))
        return self.k4(self.k3(x) * gate)


class SCBottleneck(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super(SCBottleneck, self).__init__()
        half = planes // 2
        self.conv_a = nn.Sequential(nn.Conv2d(inplanes, half, 1, stride, bias=False), nn.BatchNorm2d(half), nn.ReLU())
        self.conv_b = nn.Sequential(nn.Conv2d(inplanes, half, 1, stride, bias=False), nn.BatchNorm2d(half), nn.ReLU())
        self.scconv = SelfCalibrated(half)
        self.k1 = nn.Sequential(nn.Conv2d(half, half, 3, padding=1, bias=False), nn.BatchNorm2d(half))
        self.out = nn.Sequential(nn.Conv2d(planes, planes, 1, bias=False), nn.BatchNorm2d(planes))
        self.short = nn.Conv2d(inplanes, planes, 1, stride, bias=False)

    def forward(self, x):
        a = F.relu(self.k1(self.conv_a(x)))
        b = F.relu(self.scconv(self.conv_b(x)))
        return F.relu(self.out(torch.cat([a, b], dim=1)) + self.short(x))


class SCNet(nn.Module):
    def __init__(self, num_classes=1000):
        super(SCNet, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.layer1 = SCBottleneck(16, 32)
        self.layer2 = SCBottleneck(32, 64, stride=2)
        self.layer3 = SCBottleneck(64, 128, stride=2)
        self.layer4 = SCBottleneck(128, 256, stride=2)
        self.fc = nn.Linear(256, num_classes)

    def forward(self, x):
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(x.mean((2, 3)))


if __name__ == '__main__':
    images = torch.rand(1, 3, 224, 224)
    model = SCNet()
    model = model.cpu()
    print(model(images).size())
