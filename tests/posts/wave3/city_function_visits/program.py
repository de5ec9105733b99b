import torch
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, in_ch, out_ch, stride):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch // 2, 1, bias=False), nn.BatchNorm2d(out_ch // 2), nn.ReLU(inplace=True),
            nn.Conv2d(out_ch // 2, out_ch // 2, 3, stride, 1, bias=False), nn.BatchNorm2d(out_ch // 2), nn.ReLU(inplace=True),
            nn.Conv2d(out_ch // 2, out_ch, 1, bias=False), nn.BatchNorm2d(out_ch))
        self.short = nn.Conv2d(in_ch, out_ch, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.conv(x) + self.short(x))


class VisitNet(nn.Module):
    """7 days x 26 weeks x 24 hours of visits of one area."""

    def __init__(self, out=64):
        super().__init__()
        self.stem = nn.Conv2d(7, 64, 3, 1, 1, bias=False)
        self.layers = nn.Sequential(Bottleneck(64, 128, 1), Bottleneck(128, 256, 2),
                                    Bottleneck(256, 384, 2), Bottleneck(384, 512, 2))
        self.linear = nn.Linear(512, out)

    def forward(self, visit):
        out = self.layers(F.relu(self.stem(visit)))
        out = F.avg_pool2d(out, 4)
        out = out.view(out.size(0), -1)
        return self.linear(out)


class FunctionNet(nn.Module):
    """Function of an urban area from its satellite image and its visits."""

    def __init__(self, num_classes=9):
        super().__init__()
        self.image_model = nn.Sequential(
            nn.Conv2d(3, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            Bottleneck(32, 128, 2), Bottleneck(128, 256, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(256, 128))
        self.visit_model = VisitNet(64)
        self.cls = nn.Linear(128 + 64, num_classes)

    def forward(self, image, visit):
        x_img = self.image_model(image)
        x_vis = self.visit_model(visit)
        return self.cls(torch.cat((x_img, x_vis), 1))
