from types import SimpleNamespace

import torch
from torch import nn

cfg = SimpleNamespace(
    image_size=48,
    patch_size=8,
    dim=36,
    depth=1,
    heads=3,
    num_classes=11,
)


class Model(nn.Module):
    def __init__(self, cfg=cfg):
        super().__init__()
        num_patches = (cfg.image_size // cfg.patch_size) ** 2
        self.to_patch = nn.Conv2d(3, cfg.dim, cfg.patch_size, cfg.patch_size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, cfg.dim))
        self.dist_token = nn.Parameter(torch.zeros(1, 1, cfg.dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, num_patches + 1, cfg.dim))
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        layer = nn.TransformerEncoderLayer(
            cfg.dim, cfg.heads, 4 * cfg.dim, dropout=0.0, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, cfg.depth)
        self.head = nn.Linear(cfg.dim, cfg.num_classes)
        self.head_dist = nn.Linear(cfg.dim, cfg.num_classes)

    def forward(self, images):
        b = images.size(0)
        x = self.to_patch(images).flatten(2).transpose(1, 2)
        cls = self.cls_token.expand(b, -1, -1)
        dist = self.dist_token.expand(b, -1, -1)
        x = torch.cat((cls, dist, x), dim=1)
        x = x + self.pos_embed
        x = self.blocks(x)
        return self.head(x[:, 0]), self.head_dist(x[:, 1])


def example_inputs():
    return (torch.randn(2, 3, 48, 48),)
