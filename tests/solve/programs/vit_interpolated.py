import torch
import torch.nn.functional as F
from torch import nn


class ViT(nn.Module):
    """ViT whose position table is resized to the image, as in DINO."""

    def __init__(self, patch=4, grid=4, dim=16):
        super().__init__()
        self.grid = grid
        self.patch_embed = nn.Conv2d(3, dim, patch, stride=patch)
        self.pos_embed = nn.Parameter(torch.randn(1, grid * grid, dim) * 0.02)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def positions(self, rows, columns):
        if (rows, columns) == (self.grid, self.grid):
            return self.pos_embed
        table = self.pos_embed.reshape(1, self.grid, self.grid, -1)
        table = table.permute(0, 3, 1, 2)
        table = F.interpolate(table, size=(rows, columns), mode="bicubic")
        return table.flatten(2).transpose(1, 2)

    def forward(self, x):
        x = self.patch_embed(x)
        rows, columns = x.shape[-2:]
        x = x.flatten(2).transpose(1, 2)
        x = x + self.positions(rows, columns)
        y = self.norm(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x
