import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, patch_size=14, embed_dim=8):
        super().__init__()
        self.patch_size = patch_size
        self.proj = nn.Conv2d(3, embed_dim, patch_size, patch_size)

    def forward(self, x):
        height, width = x.shape[-2:]
        if height % self.patch_size != 0:
            raise ValueError(f"height {height} is no multiple of {self.patch_size}")
        if width % self.patch_size != 0:
            raise ValueError(f"width {width} is no multiple of {self.patch_size}")
        return self.proj(x).flatten(2).transpose(1, 2)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = PatchEmbed()
        self.registers = nn.Parameter(torch.zeros(1, 4, 8))
        self.norm = nn.LayerNorm(8)

    def forward(self, images):
        x = self.patch_embed(images)
        registers = self.registers.expand(len(x), -1, -1)
        x = self.norm(torch.cat([registers, x], dim=1))
        return {"registers": x[:, :4], "patches": x[:, 4:]}
