import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 3 * 7, 1)
        self.register_buffer("an", torch.rand(3, 2))

    def forward(self, x):
        p = self.c(x)
        B, _, H, W = p.shape
        p = p.view(B, 3, 7, H, W).permute(0, 1, 3, 4, 2)
        gy, gx = torch.meshgrid(
            torch.arange(H, device=x.device),
            torch.arange(W, device=x.device),
            indexing="ij",
        )
        xy = p[..., :2].sigmoid() + torch.stack([gx, gy], -1)
        wh = p[..., 2:4].exp() * self.an.view(1, 3, 1, 1, 2)
        return torch.cat([xy, wh, p[..., 4:].sigmoid()], -1).view(B, -1, 7)


def example_inputs():
    return (torch.randn(2, 3, 6, 9),)
