import torch
import torch.nn as nn
import torch.nn.functional as F


def base_grid(h, w):
    ys = torch.linspace(-1, 1, h)
    xs = torch.linspace(-1, 1, w)
    y, x = torch.meshgrid(ys, xs, indexing="ij")
    return torch.stack([x, y])


def warp(image, flow):
    """Sample `image` where `flow` (B, 2, H, W, in pixels) points."""
    _, _, h, w = image.shape
    base = base_grid(h, w).to(image).unsqueeze(0)
    scale = torch.tensor([2 / (w - 1), 2 / (h - 1)]).to(image)
    shift = flow * scale.view(1, 2, 1, 1)
    grid = base + shift
    return F.grid_sample(image, grid, align_corners=True, padding_mode="border")


class Model(nn.Module):
    def __init__(self, feats=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(6, feats, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(feats, feats, 3, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(feats, 2, 3, padding=1),
        )

    def forward(self, first, second):
        flow = self.net(torch.cat([first, second], dim=1))
        warped = warp(second, flow)
        photometric = (warped - first).abs().mean(dim=(1, 2, 3))
        return flow, photometric


def example_inputs():
    return torch.rand(2, 3, 18, 22), torch.rand(2, 3, 18, 22)
