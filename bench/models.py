"""The measured models, written out: GPT-2, ViT-B/16, ResNet-50, Llama-8B and 405B.

They make the same calls as the usual implementations. Build them under
`torch.device("meta")` and `uninitialised()`: they are measured without data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@contextmanager
def uninitialised() -> Iterator[None]:
    """`torch.nn.init` draws nothing in the block, on the meta device least of all."""
    names = [n for n in dir(nn.init) if n.endswith("_") and not n.startswith("_")]
    before = {name: getattr(nn.init, name) for name in names}
    for name in names:
        setattr(nn.init, name, lambda tensor, *_, **__: tensor)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(nn.init, name, function)


# -- GPT-2 -------------------------------------------------------------------------


class CausalAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.dropout(self.out(y))


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def activation(self, x: Tensor) -> Tensor:
        """The tanh form of gelu written out, as the published code has it."""
        cubic = x + 0.044715 * torch.pow(x, 3.0)
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * cubic))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.dropout(self.down(self.activation(self.up(self.norm2(x)))))


class GPT2(nn.Module):
    """GPT-2 small: 124,439,808 parameters with the head tied to the embedding."""

    def __init__(self, width: int = 768, heads: int = 12, layers: int = 12) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50257, width)
        self.positions = nn.Embedding(1024, width)
        self.dropout = nn.Dropout(0.1)
        self.blocks = nn.ModuleList(GPTBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 50257, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(steps))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


# -- ViT ---------------------------------------------------------------------------


class ViTAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(B, N, C))


class ViTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attention = ViTAttention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Dropout(0.0),
            nn.Linear(4 * width, width),
            nn.Dropout(0.0),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class ViT(nn.Module):
    """ViT-B/16 at 224 x 224: 86,567,656 parameters."""

    def __init__(self, width: int = 768, heads: int = 12, layers: int = 12) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.empty(1, 1, width))
        self.position = nn.Parameter(torch.empty(1, 197, width))
        self.blocks = nn.Sequential(*(ViTBlock(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


# -- ResNet ------------------------------------------------------------------------


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = None
        if stride > 1 or inputs != 4 * width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                nn.BatchNorm2d(4 * width),
            )

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return self.relu(y)


class ResNet50(nn.Module):
    """ResNet-50: 25,557,032 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks, inputs = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for index in range(count):
                blocks.append(Bottleneck(inputs, width, stride if index == 0 else 1))
                inputs = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(2048, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu(self.norm(self.conv(x))))
        return self.head(torch.flatten(self.average(self.blocks(x)), 1))


# -- Llama -------------------------------------------------------------------------


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary position: halves swapped, one of them negated."""
    half = x.shape[-1] // 2
    swapped = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cosine + swapped * sine


class LlamaAttention(nn.Module):
    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.size = width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.size, bias=False)
        self.value = nn.Linear(width, groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        B, T, C = x.shape
        q = self.query(x).view(B, T, -1, self.size).transpose(1, 2)
        k = self.key(x).view(B, T, -1, self.size).transpose(1, 2)
        v = self.value(x).view(B, T, -1, self.size).transpose(1, 2)
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).contiguous().reshape(B, T, C))


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, groups: int, feed: int) -> None:
        super().__init__()
        self.norm1 = RMSNorm(width)
        self.attention = LlamaAttention(width, heads, groups)
        self.norm2 = RMSNorm(width)
        self.gate = nn.Linear(width, feed, bias=False)
        self.up = nn.Linear(width, feed, bias=False)
        self.down = nn.Linear(feed, width, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x), cosine, sine)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Llama 3: 8,030,261,248 parameters at the default sizes."""

    def __init__(
        self,
        width: int = 4096,
        layers: int = 32,
        heads: int = 32,
        groups: int = 8,
        feed: int = 14336,
        vocabulary: int = 128256,
    ) -> None:
        super().__init__()
        self.size = width // heads
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(
            LlamaBlock(width, heads, groups, feed) for _ in range(layers)
        )
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        powers = torch.arange(0, self.size, 2, device=tokens.device) / self.size
        angle = steps[:, None].float() * (500000.0**-powers)[None, :]
        angle = torch.cat((angle, angle), dim=-1)
        cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        for block in self.blocks:
            x = block(x, cosine, sine)
        return self.head(self.norm(x))


def llama_405b() -> Llama:
    """Llama 3.1 405B: 126 layers, 16,384 wide."""
    return Llama(16384, 126, 128, 8, 53248)


class Tower(nn.Module):
    """As many equal layers as asked for: what growth is measured on."""

    def __init__(self, layers: int, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = F.relu(layer(x)) + x
        return x
