import torch
from torch import nn


def window_partition(x, w):
    B, H, W, C = x.shape
    x = x.view(B, H // w, w, W // w, w, C)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, C)


def window_reverse(win, w, H, W):
    B = win.shape[0] // (H * W // w // w)
    x = win.view(B, H // w, W // w, w, w, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


class Model(nn.Module):
    def __init__(self, dim=16, heads=2, w=4, shift=2):
        super().__init__()
        self.heads, self.w, self.shift = heads, w, shift
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.table = nn.Parameter(torch.zeros((2 * w - 1) ** 2, heads))
        yx = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij"))
        rel = yx.flatten(1)[:, :, None] - yx.flatten(1)[:, None, :] + w - 1
        self.register_buffer("index", rel[0] * (2 * w - 1) + rel[1])

    def mask(self, H, W):
        img = torch.zeros(1, H, W, 1)
        bands = (slice(0, -self.w), slice(-self.w, -self.shift), slice(-self.shift, None))
        for i, hs in enumerate(bands):
            for j, ws in enumerate(bands):
                img[:, hs, ws] = 3 * i + j
        ids = window_partition(img, self.w).squeeze(-1)
        return (ids[:, None, :] != ids[:, :, None]).float() * -100.0

    def forward(self, x):
        B, H, W, C = x.shape
        shifted = torch.roll(x, (-self.shift, -self.shift), dims=(1, 2))
        win = window_partition(shifted, self.w)
        n, t = win.shape[:2]
        q, k, v = self.qkv(win).reshape(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        a = a + self.table[self.index.view(-1)].view(t, t, -1).permute(2, 0, 1)
        m = self.mask(H, W).to(a)
        a = a.view(B, -1, self.heads, t, t) + m[None, :, None]
        y = a.flatten(0, 1).softmax(-1) @ v
        y = self.proj(y.transpose(1, 2).reshape(n, t, C))
        y = window_reverse(y, self.w, H, W)
        return x + torch.roll(y, (self.shift, self.shift), dims=(1, 2))


def example_inputs():
    return (torch.randn(2, 8, 12, 16),)
