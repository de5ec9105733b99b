import torch
from torch import nn


class AxialAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.rows = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.cols = nn.MultiheadAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        b, c, h, w = x.shape

        # along the width: every row is a sequence
        r = x.permute(0, 2, 3, 1).reshape(b * h, w, c)
        r = r + self.rows(r, r, r, need_weights=False)[0]

        # along the height, in the (sequence, batch, channel) layout
        k = r.view(b, h, w, c).permute(1, 0, 2, 3).reshape(h, b * w, c)
        k = k + self.cols(k, k, k, need_weights=False)[0]

        y = self.norm(k).view(h, b, w, c)
        return y.permute(1, 3, 0, 2)


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.inp = nn.Conv2d(1, dim, 3, padding=1)
        self.row_pos = nn.Parameter(torch.zeros(1, dim, 32, 1))
        self.col_pos = nn.Parameter(torch.zeros(1, dim, 1, 32))
        self.axial = AxialAttention(dim, 4)

    def forward(self, x):
        h, w = x.shape[-2:]
        z = self.inp(x)
        z = z + self.row_pos[:, :, :h] + self.col_pos[..., :w]
        return self.axial(z)


def example_inputs():
    return (torch.rand(2, 1, 7, 9),)
