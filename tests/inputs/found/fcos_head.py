"""The head of FCOS, shared by all levels of a pyramid."""

import math

import torch
import torch.nn as nn
from torch import Tensor


class Scale(nn.Module):
    def __init__(self, init_value: float = 1.0):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([init_value]))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class FCOSHead(nn.Module):
    def __init__(self, in_channels: int = 16, num_classes: int = 6, num_convs: int = 2):
        super().__init__()
        self.strides = [8, 16, 32]
        towers = []
        for _ in range(2):
            layers: list[nn.Module] = []
            for _ in range(num_convs):
                layers.append(nn.Conv2d(in_channels, in_channels, 3, padding=1))
                layers.append(nn.GroupNorm(4, in_channels))
                layers.append(nn.ReLU())
            towers.append(nn.Sequential(*layers))
        self.cls_tower, self.bbox_tower = towers
        self.cls_logits = nn.Conv2d(in_channels, num_classes, 3, padding=1)
        self.bbox_pred = nn.Conv2d(in_channels, 4, 3, padding=1)
        self.centerness = nn.Conv2d(in_channels, 1, 3, padding=1)
        self.scales = nn.ModuleList([Scale() for _ in self.strides])
        nn.init.constant_(self.cls_logits.bias, -math.log(99.0))

    def forward(self, features: list[Tensor]) -> dict[str, Tensor]:
        """Features of strides 8, 16 and 32, the largest first."""
        assert len(features) == len(self.strides)
        logits, boxes, centers = [], [], []
        for level, feature in enumerate(features):
            cls = self.cls_tower(feature)
            box = self.bbox_tower(feature)
            reg = self.scales[level](self.bbox_pred(box)).exp() * self.strides[level]
            logits.append(self.cls_logits(cls).flatten(2))
            boxes.append(reg.flatten(2))
            centers.append(self.centerness(box).flatten(2))
        return {
            "logits": torch.cat(logits, dim=2).transpose(1, 2),
            "boxes": torch.cat(boxes, dim=2).transpose(1, 2),
            "centerness": torch.cat(centers, dim=2).squeeze(1),
        }
