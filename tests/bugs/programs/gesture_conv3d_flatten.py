import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Hand gestures from 12 frames, 3D convolutions."""

    def __init__(self):
        super(Model, self).__init__()
        self.conv1 = nn.Conv3d(3, 8, kernel_size=(3, 5, 5), stride=(1, 2, 2))
        self.bn1 = nn.BatchNorm3d(8)
        self.conv2 = nn.Conv3d(8, 16, kernel_size=3)
        self.bn2 = nn.BatchNorm3d(16)
        self.pool = nn.MaxPool3d((2, 2, 2))
        self.fc1 = nn.Linear(16 * 1 * 2 * 2, 32)
        self.fc2 = nn.Linear(32, 27)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = torch.flatten(x)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.5, training=self.training)
        return self.fc2(x)


def example_inputs():
    # (N, C, frames, height, width)
    return (torch.randn(4, 3, 12, 32, 32),)
