import torch
import torch.nn.functional as F
from torch import nn


class FastAttention(nn.Module):
    """Uses the fused kernel."""

    def __init__(self, c, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(c, 3 * c)
        self.proj = nn.Linear(c, c)

    def forward(self, x):
        B, T, C = x.shape
        D = C // self.n_heads
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.reshape(B, T, self.n_heads, D).transpose(1, 2)
        k = k.reshape(B, self.n_heads, T, D)
        v = v.reshape(B, T, self.n_heads, D).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Model(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.norm = nn.LayerNorm(c)
        self.attn = FastAttention(c, 4)
        self.ff = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.ff(x)


def example_inputs():
    return (torch.randn(3, 10, 24),)
