import math

import torch
import torch.nn.functional as F
from torch import nn


def timestep_embedding(timesteps, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(half) / half)
    args = timesteps[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, in_ch, out_ch, emb_ch):
        super().__init__()
        self.norm1 = nn.GroupNorm(4, in_ch)
        self.conv1 = nn.Conv2d(in_ch, out_ch, 3, padding=1)
        self.emb = nn.Linear(emb_ch, 2 * out_ch)
        self.norm2 = nn.GroupNorm(4, out_ch)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, padding=1)
        self.skip = nn.Conv2d(in_ch, out_ch, 1) if in_ch != out_ch else nn.Identity()

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.emb(F.silu(emb))[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (1 + scale) + shift
        return self.skip(x) + self.conv2(F.silu(h))


class AttentionBlock(nn.Module):
    def __init__(self, channels, num_heads=2):
        super().__init__()
        self.num_heads = num_heads
        self.norm = nn.GroupNorm(4, channels)
        self.qkv = nn.Conv1d(channels, 3 * channels, 1)
        self.proj = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        b, c, *spatial = x.shape
        x = x.reshape(b, c, -1)
        qkv = self.qkv(self.norm(x))
        q, k, v = qkv.reshape(b * self.num_heads, -1, x.shape[-1]).chunk(3, dim=1)
        weight = torch.einsum("bct,bcs->bts", q, k) / math.sqrt(q.shape[1])
        h = torch.einsum("bts,bcs->bct", weight.softmax(-1), v).reshape(b, c, -1)
        return (x + self.proj(h)).reshape(b, c, *spatial)


class UNetModel(nn.Module):
    """Predicts the noise in x at a timestep, for a class if one is given."""

    def __init__(self, in_channels=3, model_channels=16, num_classes=10):
        super().__init__()
        ch, emb = model_channels, 4 * model_channels
        self.model_channels = ch
        self.time_embed = nn.Sequential(
            nn.Linear(ch, emb), nn.SiLU(), nn.Linear(emb, emb)
        )
        self.label_emb = nn.Embedding(num_classes, emb)
        self.conv_in = nn.Conv2d(in_channels, ch, 3, padding=1)
        self.down1 = ResBlock(ch, ch, emb)
        self.pool1 = nn.Conv2d(ch, ch, 3, stride=2, padding=1)
        self.down2 = ResBlock(ch, 2 * ch, emb)
        self.pool2 = nn.Conv2d(2 * ch, 2 * ch, 3, stride=2, padding=1)
        self.mid = ResBlock(2 * ch, 2 * ch, emb)
        self.attn = AttentionBlock(2 * ch)
        self.up2 = ResBlock(4 * ch, ch, emb)
        self.up1 = ResBlock(2 * ch, ch, emb)
        self.conv_out = nn.Conv2d(ch, in_channels, 3, padding=1)

    def forward(self, x, timesteps, y=None):
        emb = self.time_embed(timestep_embedding(timesteps, self.model_channels))
        if y is not None:
            assert y.shape == (x.shape[0],)
            emb = emb + self.label_emb(y)
        h1 = self.down1(self.conv_in(x), emb)
        h2 = self.down2(self.pool1(h1), emb)
        h = self.attn(self.mid(self.pool2(h2), emb))
        h = F.interpolate(h, scale_factor=2, mode="nearest")
        h = self.up2(torch.cat([h, h2], dim=1), emb)
        h = F.interpolate(h, scale_factor=2, mode="nearest")
        h = self.up1(torch.cat([h, h1], dim=1), emb)
        return self.conv_out(h)
