import torch
from torch import nn


class HyperNetwork(nn.Module):
    """Makes the weights of a small network over coordinates from a code of an image."""

    def __init__(self, latent_dim=32, widths=(2, 12, 12, 3)):
        super().__init__()
        self.latent_dim = latent_dim
        self.sizes = list(zip(widths[:-1], widths[1:]))
        self.trunk = nn.Sequential(nn.Linear(latent_dim, 24), nn.ReLU())
        self.heads = nn.ModuleList(
            [
                nn.Linear(24, fan_in * fan_out + fan_out)
                for fan_in, fan_out in self.sizes
            ]
        )

    def forward(self, z, coords):
        h = self.trunk(z)
        x = coords
        for i, ((fan_in, fan_out), head) in enumerate(zip(self.sizes, self.heads)):
            params = head(h)
            w, b = params.split([fan_in * fan_out, fan_out], dim=-1)
            w = w.view(-1, fan_in, fan_out)
            x = torch.baddbmm(b.unsqueeze(1), x, w)
            if i < len(self.sizes) - 1:
                x = torch.sin(30.0 * x)
        return torch.sigmoid(x)
