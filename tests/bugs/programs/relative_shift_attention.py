import torch
import torch.nn as nn
import torch.nn.functional as F


def rel_shift(x):
    b, h, t, m = x.shape
    x = F.pad(x, (1, 0))
    x = x.view(b, h, m + 1, t)
    return x[:, :, 1:].reshape(b, h, t, m)


class Model(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.r = nn.Linear(dim, dim, bias=False)
        self.u = nn.Parameter(torch.zeros(heads, 1, self.d))
        self.v = nn.Parameter(torch.zeros(heads, 1, self.d))
        self.o = nn.Linear(dim, dim)

    def positions(self, t, like):
        pos = torch.arange(t - 1, -1, -1.0, device=like.device)
        half = like.size(-1) // 2
        freq = 10000 ** (-torch.arange(half, device=like.device) / half)
        angle = pos[:, None] * freq
        return torch.cat([angle.sin(), angle.cos()], dim=-1)

    def forward(self, x):
        b, t, c = x.shape
        split = lambda z: z.view(*z.shape[:-1], self.h, self.d).transpose(-2, -3)
        q, k, v = map(split, self.qkv(x).chunk(3, -1))
        r = split(self.r(self.positions(t, x)))
        ac = (q + self.u) @ k.mT
        bd = rel_shift((q + self.v) @ r.mT)
        ban = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        a = ((ac + bd) / self.d**0.5).masked_fill(ban, float("-inf")).softmax(-1)
        return self.o((a @ v).transpose(1, 2).reshape(b, t, c))


def example_inputs():
    return (torch.randn(2, 9, 32),)
