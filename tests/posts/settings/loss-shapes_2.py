# line 36: a one-image style target of shape (20, 20) meets a prediction (1, 1, 20, 20) in nn.HuberLoss
import numpy as np
import torch
from torch import nn


class CoordinateField(nn.Module):
    """Implicit image: coordinates in, brightness out."""

    def __init__(self, width=32, bands=4):
        super().__init__()
        self.register_buffer("freq", 2.0 ** torch.arange(bands) * np.pi)
        self.net = nn.Sequential(nn.Linear(4 * bands, width), nn.ReLU(), nn.Linear(width, 1))

    def features(self, xy):
        a = xy.unsqueeze(-1) * self.freq
        return torch.cat([a.sin(), a.cos()], dim=-1).flatten(-2)

    def forward(self, xy):
        return self.net(self.features(xy)).permute(2, 0, 1).unsqueeze(0)


def photograph(side):
    grid = np.linspace(-1, 1, side)
    x, y = np.meshgrid(grid, grid)
    picture = np.exp(-4 * (x ** 2 + (y - 0.3) ** 2)) + 0.3 * (x > 0.4)
    xy = np.stack([x, y], axis=-1)
    return torch.tensor(xy, dtype=torch.float32), torch.tensor(picture, dtype=torch.float32)


def fit(field, xy, picture, iterations=150, lr=3e-3):
    optimizer = torch.optim.Adam(field.parameters(), lr=lr)
    criterion = nn.HuberLoss(delta=0.5)
    for i in range(iterations):
        rendered = field(xy)
        loss = criterion(rendered, picture)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 50 == 0:
            print(i, loss.item())
    return loss.item()


torch.manual_seed(9)
coords, target = photograph(20)
final = fit(CoordinateField(), coords, target)
print("final", final)
