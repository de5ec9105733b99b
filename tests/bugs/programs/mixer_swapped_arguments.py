from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Config:
    image: int = 32
    patch: int = 8
    dim: int = 48
    expand: int = 2
    depth: int = 3
    classes: int = 10

    @property
    def n_patches(self):
        return (self.image // self.patch) ** 2


def mlp(size, hidden):
    return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))


class MixerBlock(nn.Module):
    def __init__(self, tokens, channels, expand):
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.token_mix = mlp(tokens, tokens * expand)
        self.norm2 = nn.LayerNorm(channels)
        self.channel_mix = mlp(channels, channels * expand)

    def forward(self, x):
        y = self.norm1(x).transpose(1, 2)
        x = x + self.token_mix(y).transpose(1, 2)
        return x + self.channel_mix(self.norm2(x))


class Model(nn.Module):
    def __init__(self, cfg=Config()):
        super().__init__()
        self.stem = nn.Conv2d(3, cfg.dim, cfg.patch, cfg.patch)
        self.blocks = nn.Sequential(
            *[MixerBlock(cfg.dim, cfg.n_patches, cfg.expand) for _ in range(cfg.depth)]
        )
        self.head = nn.Linear(cfg.dim, cfg.classes)

    def forward(self, img):
        x = self.stem(img).flatten(2).mT
        return self.head(self.blocks(x).mean(1))


def example_inputs():
    return (torch.randn(5, 3, 32, 32),)
