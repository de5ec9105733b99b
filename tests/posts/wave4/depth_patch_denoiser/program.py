import torch
import torch.nn as nn
from einops import rearrange


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(ch, ch, 3, padding=1), nn.InstanceNorm2d(ch), nn.ELU(),
            nn.Conv2d(ch, ch, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


class PatchDenoiser(nn.Module):
    """Cleans KITTI sized frames patch by patch, then puts the frame together again."""

    def __init__(self, patch=64, ch=16, blocks=2):
        super().__init__()
        self.patch = patch
        self.head = nn.Conv2d(3, ch, 3, padding=1)
        self.blocks = nn.Sequential(*[ResBlock(ch) for _ in range(blocks)])
        self.tail = nn.Conv2d(ch, 3, 3, padding=1)

    def to_patches(self, input_image):
        p = self.patch
        return rearrange(input_image, 'b c (h p1) (w p2) -> (b h w) c p1 p2', p1=p, p2=p)

    def to_image(self, patches, like):
        p = self.patch
        return rearrange(patches, '(b h w) c p1 p2 -> b c (h p1) (w p2)', p1=p, p2=p)

    def forward(self, input_image):
        patches = self.to_patches(input_image)
        noise = self.tail(self.blocks(self.head(patches)))
        org_img = self.to_image(patches - noise, input_image)
        return org_img.clamp(0, 1)
