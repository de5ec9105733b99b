# line 31: the velocity that the rectified flow should predict is made of another draw than the interpolated point
import math

import torch
from torch import nn


class Velocity(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def moons(n):
    angle = math.pi * torch.rand(n)
    upper = torch.rand(n) < 0.5
    sign = torch.where(upper, 1.0, -1.0)
    x = torch.stack([torch.cos(angle) + 0.5 * (~upper), sign * torch.sin(angle)], dim=1)
    return x + 0.05 * torch.randn(n, 2)


def flow_matching_loss(field, data):
    source = torch.randn(data.shape)
    t = torch.rand(len(data), 1)
    point = torch.lerp(source, data, t)
    velocity = data - torch.randn(data.shape)
    return (field(point, t) - velocity).square().sum(1).mean()


@torch.no_grad()
def sample(field, n, steps=25):
    field.eval()
    x = torch.randn(n, 2)
    for k in range(steps):
        x = x + field(x, torch.full((n, 1), k / steps)) / steps
    return x


torch.manual_seed(0)
field = Velocity()
optimizer = torch.optim.Adam(field.parameters(), lr=3e-3)
for step in range(400):
    optimizer.zero_grad()
    loss = flow_matching_loss(field, moons(128))
    loss.backward()
    optimizer.step()
print("loss", loss.item())
print("sample std", sample(field, 500).std(0).tolist(), "data std", moons(500).std(0).tolist())
