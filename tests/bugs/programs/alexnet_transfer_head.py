import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 11, stride=4, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(32, 96, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(96, 192, 3, padding=1),
            nn.ReLU(),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.out_features = 192

    def forward(self, x):
        return self.avgpool(self.features(x)).flatten(1)


class Model(nn.Module):
    """Pets classifier: frozen backbone, new head."""

    def __init__(self, n_breeds=37):
        super().__init__()
        self.backbone = Backbone()
        for p in self.backbone.parameters():
            p.requires_grad_(False)
        self.head = nn.Sequential(
            nn.Linear(self.backbone.out_features, 128),
            nn.ReLU(),
            nn.Linear(128, n_breeds),
        )

    def forward(self, img):
        feats = self.backbone(img)
        return self.head(feats)


def example_inputs():
    return (torch.randn(4, 3, 160, 160),)
