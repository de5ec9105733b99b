import torch
import torch.nn as nn


class DetectHead(nn.Module):
    def __init__(self, c_in, n_classes, anchors, stride):
        super().__init__()
        self.na = len(anchors)
        self.no = n_classes + 5
        self.stride = stride
        self.anchors = torch.tensor(anchors).view(1, -1, 1, 1, 2)
        self.m = nn.Conv2d(c_in, self.na * self.no, 1)

    def forward(self, x):
        bs, _, ny, nx = x.shape
        y = self.m(x).view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2)
        y = y.sigmoid()
        wh = (y[..., 2:4] * 2) ** 2 * self.anchors
        xy = (y[..., 0:2] * 2 - 0.5) * self.stride
        return torch.cat((xy, wh, y[..., 4:]), -1).reshape(bs, -1, self.no)


class Model(nn.Module):
    def __init__(self, n_classes=4, width=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=4, padding=1), nn.SiLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.SiLU(),
        )
        anchors = [[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]
        self.head = DetectHead(width, n_classes, anchors, stride=8)

    def forward(self, img):
        return self.head(self.backbone(img))


def example_inputs():
    return (torch.rand(2, 3, 64, 48),)
