import torch
import torch.nn as nn
from einops import rearrange, repeat


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))

    def forward(self, x):
        return self.net(x)


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16):
        super().__init__()
        self.heads, self.scale = heads, dim_head ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        q, k, v = rearrange(self.to_qkv(self.norm(x)), 'b n (three h d) -> three b h n d', three=3, h=self.heads)
        attn = (q @ k.transpose(-1, -2) * self.scale).softmax(dim=-1)
        return self.to_out(rearrange(attn @ v, 'b h n d -> b n (h d)'))


class SatellitePatchEncoder(nn.Module):
    """Transformer over the patches of a channels-last satellite tile; grid x grid patches."""

    def __init__(self, image_size=50, channels=3, grid=5, dim=64, depth=2, num_classes=6):
        super().__init__()
        assert image_size % grid == 0
        self.grid = grid
        patch = image_size // grid
        self.embed = nn.Sequential(
            nn.Conv2d(channels, 16, kernel_size=3, padding=1), nn.GELU(),
            nn.AdaptiveAvgPool2d(patch // 2), nn.Flatten(), nn.Linear(16 * (patch // 2) ** 2, dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, grid * grid + 1, dim) * 0.02)
        self.layers = nn.ModuleList(nn.ModuleList([Attention(dim), FeedForward(dim, 2 * dim)]) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def patches(self, tile):
        return rearrange(tile, 'b (h1 h2) (w1 w2) c -> (b h1 w1) c h2 w2', h1=self.grid, w1=self.grid)

    def forward(self, tile):
        b = tile.shape[0]
        x = self.embed(self.patches(tile))
        x = rearrange(x, '(b n) d -> b n d', b=b)
        x = torch.cat([repeat(self.cls_token, '1 1 d -> b 1 d', b=b), x], dim=1) + self.pos
        for attn, ff in self.layers:
            x = x + attn(x)
            x = x + ff(x)
        return self.head(x[:, 0])
