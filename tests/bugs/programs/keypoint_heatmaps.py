import torch
from torch import nn
import torch.nn.functional as F

N_KEYPOINTS = 17


class Heatmaps(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
            nn.ConvTranspose2d(width, N_KEYPOINTS, 2, stride=2),
        )

    def forward(self, x):
        return self.net(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.heat = Heatmaps()
        self.regress = nn.Linear(3 * 32 * 32, N_KEYPOINTS * 2)

    def forward(self, image, target):
        flat = self.regress(image.flatten(1))
        coords = flat.unflatten(1, (21, 2))
        pred = self.heat(image)
        loss = F.mse_loss(pred, target)
        return loss, coords


def draw(points, size=16):
    grid = torch.arange(size).float()
    dx = (grid - points[..., 0, None] * size) ** 2
    dy = (grid - points[..., 1, None] * size) ** 2
    return torch.exp(-(dy[..., :, None] + dx[..., None, :]) / 8)


def example_inputs():
    points = torch.rand(2, N_KEYPOINTS, 2)
    return torch.rand(2, 3, 32, 32), draw(points)
