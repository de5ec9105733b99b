import torch
import torch.nn as nn
import torch.nn.functional as F


class GazeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.heat = nn.Conv2d(32, 2, 1)
        self.angles = nn.Linear(32, 2)

    def forward(self, eye):
        f = self.trunk(eye)
        heat = self.heat(f)
        heat = heat.movedim(1, 4)
        return heat, self.angles(f.mean(dim=(2, 3)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GazeNet()

    def forward(self, eye, target):
        heat, angles = self.net(eye)
        # target rows: pitch, yaw, confidence
        loss = F.l1_loss(angles, target)
        return loss, heat


def example_inputs():
    return torch.rand(5, 1, 48, 48), torch.randn(5, 3)
