import torch
import torch.nn as nn


class PoseNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(3, width, 7, stride=4, padding=3),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.xyz = nn.Linear(2 * width, 3)
        self.quat = nn.Linear(2 * width, 4)

    def forward(self, image):
        h = self.gap(self.trunk(image)).squeeze()
        q = self.quat(h)
        return self.xyz(h), q / q.norm(dim=-1, keepdim=True)


class Model(nn.Module):
    """Inference as the robot runs it: one frame at a time."""

    def __init__(self):
        super().__init__()
        self.net = PoseNet()

    @torch.no_grad()
    def forward(self, frame):
        xyz, quat = self.net(frame)
        return {"position": xyz, "rotation": quat}


def example_inputs():
    return (torch.rand(1, 3, 48, 64),)
