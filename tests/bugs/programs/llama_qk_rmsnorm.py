import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.q_norm = nn.RMSNorm(dim)
        self.k_norm = nn.RMSNorm(self.head_dim)

    def forward(self, x):
        B, T, _ = x.shape
        qkv = self.wqkv(x).view(B, T, 3, self.n_heads, self.head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q = self.q_norm(q)
        k = self.k_norm(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(B, T, -1))


class Model(nn.Module):
    def __init__(self, vocab=128, dim=64, heads=4):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.attn = Attention(dim, heads)
        self.norm = nn.RMSNorm(dim)

    def forward(self, idx):
        x = self.tok(idx)
        return x + self.attn(self.norm(x))


def example_inputs():
    return (torch.randint(128, (2, 11)),)
