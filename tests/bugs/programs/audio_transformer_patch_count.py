from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class ASTConfig:
    n_mels: int = 64
    n_frames: int = 96
    patch: int = 16
    dim: int = 40
    depth: int = 2
    heads: int = 4
    n_classes: int = 35

    @property
    def n_patches(self):
        return (self.n_mels // self.patch) + (self.n_frames // self.patch)


class Model(nn.Module):
    def __init__(self, cfg=ASTConfig()):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, cfg.dim, cfg.patch, stride=cfg.patch)
        self.pos = nn.Parameter(torch.zeros(1, cfg.n_patches, cfg.dim))
        layer = nn.TransformerEncoderLayer(
            cfg.dim, cfg.heads, 2 * cfg.dim, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, cfg.depth)
        self.norm = nn.LayerNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.n_classes)

    def forward(self, spec):
        x = self.patch_embed(spec.unsqueeze(1))
        x = x.flatten(2).transpose(1, 2)
        x = x + self.pos
        x = self.encoder(x)
        return self.head(self.norm(x).mean(dim=1))


def example_inputs():
    return (torch.randn(3, 64, 96),)
