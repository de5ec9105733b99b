import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(6, 8, 1)

    def forward(self, x, idx):
        B, C, N = x.shape
        k = idx.size(-1)
        base = torch.arange(B, device=x.device).view(-1, 1, 1) * N
        flat = (idx + base).view(-1)
        xt = x.transpose(2, 1).contiguous()
        f = xt.view(B * N, -1)[flat].view(B, N, k, C)
        xr = xt.view(B, N, 1, C).repeat(1, 1, k, 1)
        return self.c(torch.cat((f - xr, xr), 3).permute(0, 3, 1, 2)).max(-1)[0]


def example_inputs():
    return (
        torch.randn(2, 3, 20),
        torch.randint(0, 20, (2, 20, 4)),
    )
