"""One stage of a Swin transformer; windows must tile the map."""

import torch
import torch.nn as nn


def window_partition(x, window_size):
    """(B, H, W, C) -> (num_windows * B, window_size, window_size, C)"""
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size**2, C)


def window_reverse(windows, window_size, H, W):
    B = windows.shape[0] // (H * W // window_size // window_size)
    x = windows.view(
        B, H // window_size, W // window_size, window_size, window_size, -1
    )
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


class SwinBlock(nn.Module):
    def __init__(self, dim, window_size=4, shift=0):
        super().__init__()
        self.window_size, self.shift = window_size, shift
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)

    def forward(self, x):
        shortcut = x
        x = self.norm(x)
        if self.shift > 0:
            x = torch.roll(x, (-self.shift, -self.shift), dims=(1, 2))
        H, W = x.shape[1:3]
        windows = window_partition(x, self.window_size)
        windows, _ = self.attn(windows, windows, windows, need_weights=False)
        x = window_reverse(windows, self.window_size, H, W)
        if self.shift > 0:
            x = torch.roll(x, (self.shift, self.shift), dims=(1, 2))
        return shortcut + x


class SwinStage(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=2, stride=2)
        self.blocks = nn.ModuleList([SwinBlock(dim), SwinBlock(dim, shift=2)])

    def forward(self, x):
        x = self.patch_embed(x).permute(0, 2, 3, 1)
        for block in self.blocks:
            x = block(x)
        return x
