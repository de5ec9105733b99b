import torch
import torch.nn as nn


class PatchEmbed3D(nn.Module):
    def __init__(self, img_size=64, patch_size=16, num_frames=3, tubelet=1, in_chans=6, embed_dim=96):
        super().__init__()
        self.grid_size = (num_frames // tubelet, img_size // patch_size, img_size // patch_size)
        self.num_patches = self.grid_size[0] * self.grid_size[1] * self.grid_size[2]
        self.proj = nn.Conv3d(in_chans, embed_dim, (tubelet, patch_size, patch_size),
                              (tubelet, patch_size, patch_size))

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class TemporalViTEncoder(nn.Module):
    def __init__(self, num_frames=3, embed_dim=96, depth=2, heads=4, **kw):
        super().__init__()
        self.patch_embed = PatchEmbed3D(num_frames=num_frames, embed_dim=embed_dim, **kw)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(torch.randn(1, self.patch_embed.num_patches + 1, embed_dim) * 0.02)
        layer = nn.TransformerEncoderLayer(embed_dim, heads, 4 * embed_dim, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, x):
        x = self.patch_embed(x) + self.pos_embed[:, 1:]
        cls = (self.cls_token + self.pos_embed[:, :1]).expand(x.shape[0], -1, -1)
        return self.norm(self.blocks(torch.cat((cls, x), dim=1)))


class CropSegmenter(nn.Module):
    """Crop types from a time series of multispectral tiles (B, bands, T, H, W)."""

    def __init__(self, num_classes=13, num_frames=3, embed_dim=96):
        super().__init__()
        self.encoder = TemporalViTEncoder(num_frames, embed_dim)
        dim = num_frames * embed_dim
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(dim, 64, 4, stride=4), nn.BatchNorm2d(64), nn.GELU(),
            nn.ConvTranspose2d(64, 32, 4, stride=4), nn.GELU())
        self.head = nn.Conv2d(32, num_classes, 1)

    def forward(self, x):
        tokens = self.encoder(x)
        t, h, w = self.encoder.patch_embed.grid_size
        features = tokens[:, 1:].reshape(x.shape[0], t, h, w, -1).permute(0, 1, 4, 2, 3).reshape(x.shape[0], -1, h, w)
        return self.head(self.decoder(features))
