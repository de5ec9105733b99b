import torch
import torch.nn as nn


class SpatialBroadcastDecoder(nn.Module):
    """Tiles a latent over a grid and adds coordinates (as in MONet)."""

    def __init__(self, latent, size=16):
        super().__init__()
        self.size = size
        self.convs = nn.Sequential(
            nn.Conv2d(latent + 2, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 3, 3, padding=1),
        )
        line = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(line, line, indexing="ij")
        self.register_buffer("coords", torch.stack([xx, yy]))

    def forward(self, z):
        n = z.size(0)
        grid = z[:, :, None, None].repeat(1, self.size, self.size)
        coords = self.coords.expand(n, -1, -1, -1)
        return self.convs(torch.cat((grid, coords), dim=1))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(50, 12)
        self.decoder = SpatialBroadcastDecoder(12)

    def forward(self, x):
        return self.decoder(self.fc(x))


def example_inputs():
    return (torch.randn(4, 50),)
