import torch.nn as nn


class Encoder(nn.Module):
    """Convolutions and a projection head; batch norm in both."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 16)
        self.bn = nn.BatchNorm1d(16)
        self.out = nn.Linear(16, 8)

    def forward(self, x):
        x = self.pool(self.features(x)).flatten(1)
        x = self.fc(x)
        x = self.bn(x)
        return self.out(x.relu())
