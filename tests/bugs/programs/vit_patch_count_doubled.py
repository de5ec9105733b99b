import torch
import torch.nn as nn


class PatchEmbed(nn.Module):
    def __init__(self, img_size=48, patch_size=8, in_chans=3, embed_dim=36):
        super().__init__()
        self.img_size = img_size
        self.patch_size = patch_size
        self.n_patches = (img_size // patch_size) * 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        x = self.proj(x)  # (n_samples, embed_dim, side, side)
        return x.flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    def __init__(self, img_size, patch_size, n_classes, embed_dim, depth, n_heads):
        super().__init__()
        self.patch_embed = PatchEmbed(img_size, patch_size, 3, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(
            torch.zeros(1, 1 + self.patch_embed.n_patches, embed_dim)
        )
        layer = nn.TransformerEncoderLayer(embed_dim, n_heads, 2 * embed_dim, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, n_classes)

    def forward(self, x):
        n_samples = x.shape[0]
        x = self.patch_embed(x)
        cls_token = self.cls_token.expand(n_samples, -1, -1)
        x = torch.cat((cls_token, x), dim=1)
        x = x + self.pos_embed
        x = self.norm(self.blocks(x))
        return self.head(x[:, 0])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.vit = VisionTransformer(48, 8, n_classes=7, embed_dim=36, depth=2, n_heads=4)

    def forward(self, x):
        return self.vit(x)


def example_inputs():
    return (torch.randn(2, 3, 48, 48),)
