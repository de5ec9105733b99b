import torch
from torch import nn


class SpatialAttention(nn.Module):
    """Attention over pixels as in diffusion U-Nets."""

    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.scale = dim_head**-0.5
        self.heads = heads
        hidden = heads * dim_head
        self.to_qkv = nn.Conv2d(dim, hidden * 3, 1, bias=False)
        self.to_out = nn.Conv2d(hidden, dim, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        qkv = self.to_qkv(x).chunk(3, dim=1)
        q, k, v = (t.reshape(b, self.heads, -1, h * w) for t in qkv)
        q = q * self.scale
        sim = torch.einsum("bhdi,bhdj->bhij", q, k)
        attn = sim.softmax(dim=-2)
        out = torch.einsum("bhij,bhdj->bhid", attn, v)
        out = out.transpose(-1, -2).reshape(b, -1, h, w)
        return self.to_out(out)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3, padding=1)
        self.norm = nn.GroupNorm(8, 64)
        self.attn = SpatialAttention(64)

    def forward(self, x):
        h = self.conv(x)
        return h + self.attn(self.norm(h))


def example_inputs():
    return (torch.randn(2, 3, 8, 8),)
