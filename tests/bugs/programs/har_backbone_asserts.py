import torch
import torch.nn as nn


class Backbone(nn.Module):
    feat_dim = 40

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(6, 20, 9, stride=2, padding=4),
            nn.ReLU(),
            nn.Conv1d(20, 40, 9, stride=2, padding=4),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(2),
            nn.Flatten(),
        )

    def forward(self, x):
        return self.layers(x)


class Head(nn.Module):
    def __init__(self, feat_dim, n_classes):
        super().__init__()
        self.feat_dim = feat_dim
        self.fc = nn.Linear(feat_dim, n_classes)

    def forward(self, feats):
        assert feats.shape[1:] == (self.feat_dim,), feats.shape
        return self.fc(feats)


class Model(nn.Module):
    """Walking, sitting, stairs ... from a phone's accelerometer and gyroscope."""

    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.head = Head(self.backbone.feat_dim, 6)

    def forward(self, window):
        return self.head(self.backbone(window)).log_softmax(1)


def example_inputs():
    return (torch.randn(10, 6, 128),)
