import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def split(self, t):
        b, n, d = t.shape
        return t.view(b, n, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x, keep):
        q, k, v = (self.split(t) for t in self.to_qkv(x).chunk(3, dim=-1))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        out = out.transpose(1, 2).flatten(2)
        return self.proj(out)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(90, 32, padding_idx=0)
        self.attn = SelfAttention(32, heads=2)

    def forward(self, ids):
        keep = ids != 0
        return self.attn(self.emb(ids), keep)


def example_inputs():
    ids = torch.randint(1, 90, (4, 12))
    ids[1, 8:] = 0
    ids[3, 5:] = 0
    return (ids,)
