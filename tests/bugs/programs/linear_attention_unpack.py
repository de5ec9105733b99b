import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, in_ch, dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(in_ch, dim, kernel_size=patch, stride=patch)
        self.norm = nn.GroupNorm(1, in_ch)

    def forward(self, x):
        x = self.norm(x)
        return self.proj(x)


class LinearAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = q.softmax(-1), k.softmax(-2)
        kv = k.transpose(-1, -2) @ v
        return self.proj((q @ kv).transpose(1, 2).reshape(b, n, c))


class Model(nn.Module):
    def __init__(self, in_ch=4, dim=24, patch=4, heads=3, depth=2, n_out=6):
        super().__init__()
        self.embed = PatchEmbed(in_ch, dim, patch)
        self.layers = nn.ModuleList(LinearAttention(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, n_out)

    def forward(self, satellite):
        x = self.embed(satellite)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x.mean(dim=1))


def example_inputs():
    return (torch.randn(2, 4, 24, 28),)
