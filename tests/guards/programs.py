"""Models that choose their way by sizes, as people write them."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class GPT2(nn.Module):
    """nanoGPT's checks: a longest sequence, heads that divide the width."""

    def __init__(self, block_size: int = 64, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.block_size = block_size
        self.heads = heads
        self.tokens = nn.Embedding(50, width)
        self.positions = nn.Embedding(block_size, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.ones(block_size, block_size).tril())

    def forward(self, tokens: Tensor) -> Tensor:
        _, t = tokens.size()
        assert t <= self.block_size, (
            f"Cannot forward sequence of length {t}, block size is {self.block_size}"
        )
        x = self.tokens(tokens) + self.positions(torch.arange(t))
        B, T, C = x.size()
        if C % self.heads:
            raise ValueError("width must be divisible by heads")
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (
            part.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            for part in (q, k, v)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(B, T, C))


class Windowed(nn.Module):
    """Swin's block: an image padded to whole windows, a shift if there are several."""

    def __init__(self, window: int = 7, shift: int = 3) -> None:
        super().__init__()
        self.window, self.shift = window, shift
        self.mix = nn.Linear(window * window, window * window)

    def forward(self, x: Tensor) -> Tensor:
        B, H, W, C = x.shape
        w = self.window
        shift = 0 if min(H, W) <= w else self.shift
        pad_r = (w - W % w) % w
        pad_b = (w - H % w) % w
        if pad_r or pad_b:
            x = F.pad(x, (0, 0, 0, pad_r, 0, pad_b))
        _, Hp, Wp, _ = x.shape
        if shift > 0:
            x = torch.roll(x, (-shift, -shift), (1, 2))
        x = x.view(B, Hp // w, w, Wp // w, w, C).permute(0, 1, 3, 5, 2, 4).flatten(4)
        x = self.mix(x).unflatten(-1, (w, w)).permute(0, 1, 4, 2, 5, 3)
        x = x.reshape(B, Hp, Wp, C)
        if pad_r > 0 or pad_b > 0:
            x = x[:, :H, :W].contiguous()
        return x


class UNet(nn.Module):
    """Sizes checked before, and skip connections padded where they do not meet."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.depth = depth
        self.down = nn.Conv2d(3, 3, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(3, 3, 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] < 2**self.depth or x.shape[-2] < 2**self.depth:
            raise ValueError(f"image too small: {tuple(x.shape)}")
        skips = []
        for _ in range(self.depth):
            skips.append(x)
            x = self.down(x)
        for skip in reversed(skips):
            x = self.up(x)
            if x.shape[2:] != skip.shape[2:]:
                x = F.interpolate(x, size=skip.shape[2:])
            x = x + skip
        return x


class Square(nn.Module):
    """PVT's and ViT's: tokens back into an image, which has to be square."""

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        side = int(N**0.5)
        assert side * side == N, "tokens must form a square"
        return x.transpose(1, 2).reshape(B, C, side, side)


class Pyramid(nn.Module):
    """As many halvings as the image allows."""

    def __init__(self) -> None:
        super().__init__()
        self.halve = nn.Conv2d(3, 3, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> list[Tensor]:
        levels = [x]
        while min(levels[-1].shape[-2:]) > 4:
            levels.append(self.halve(levels[-1]))
        return levels


def at_most(x: Tensor) -> Tensor:
    """The first 512 positions."""
    T = min(x.shape[1], 512)
    return x[:, :T]
