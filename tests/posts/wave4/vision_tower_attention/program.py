import torch
import torch.nn as nn
import torch.nn.functional as F


class ViTAttention(nn.Module):
    def __init__(self, hidden_size=192, num_heads=6, use_flash=False):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = hidden_size // num_heads
        self.scale = self.head_dim ** -0.5
        self.use_flash = use_flash
        self.qkv_proj = nn.Linear(hidden_size, 3 * hidden_size)
        self.out_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states):
        bsz, tgt_len, _ = hidden_states.size()
        query, key, value = self.qkv_proj(hidden_states).chunk(3, dim=-1)
        query = query.view(bsz, tgt_len, self.num_heads, self.head_dim)
        key = key.view(bsz, tgt_len, self.num_heads, self.head_dim)
        value = value.view(bsz, tgt_len, self.num_heads, self.head_dim)
        if self.use_flash:
            q, k, v = (x.transpose(1, 2) for x in (query, key, value))
            out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).contiguous()
        else:
            q, k, v = (x.transpose(1, 2) for x in (query, key, value))
            scores = torch.matmul(q * self.scale, k.transpose(-2, -1))
            out = torch.matmul(scores.softmax(dim=-1), v)
            out = out.transpose(1, 2)
        out = out.view(bsz, tgt_len, -1)
        return self.out_proj(out)


class ViTBlock(nn.Module):
    def __init__(self, hidden_size=192, num_heads=6, **kw):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden_size)
        self.attn = ViTAttention(hidden_size, num_heads, **kw)
        self.norm2 = nn.LayerNorm(hidden_size)
        self.mlp = nn.Sequential(nn.Linear(hidden_size, 4 * hidden_size), nn.GELU(),
                                 nn.Linear(4 * hidden_size, hidden_size))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTower(nn.Module):
    def __init__(self, image_size=112, patch_size=14, hidden_size=192, depth=3, text_dim=256):
        super().__init__()
        self.patch = nn.Conv2d(3, hidden_size, patch_size, stride=patch_size)
        self.pos = nn.Parameter(torch.zeros(1, (image_size // patch_size) ** 2, hidden_size))
        self.blocks = nn.ModuleList([ViTBlock(hidden_size) for _ in range(depth)])
        self.projector = nn.Linear(hidden_size, text_dim)

    def forward(self, pixel_values):
        x = self.patch(pixel_values).flatten(2).transpose(1, 2) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.projector(x)
