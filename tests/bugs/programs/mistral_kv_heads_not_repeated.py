import math

import torch
import torch.nn as nn


class GroupedAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.n_rep = n_heads // n_kv_heads
        self.hd = dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.hd, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(n_heads * self.hd, dim, bias=False)

    def forward(self, x):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.n_heads, self.hd).transpose(1, 2)
        xk = self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.hd).transpose(1, 2)
        xv = self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.hd).transpose(1, 2)
        keys = xk
        values = torch.repeat_interleave(xv, self.n_rep, dim=1)
        scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(self.hd)
        mask = torch.full((seqlen, seqlen), float("-inf")).triu(1)
        probs = (scores + mask).softmax(dim=-1)
        out = torch.matmul(probs, values)
        return self.wo(out.transpose(1, 2).reshape(bsz, seqlen, -1))


class Model(nn.Module):
    def __init__(self, dim=48, n_heads=6, n_kv_heads=2):
        super().__init__()
        self.attn = GroupedAttention(dim, n_heads, n_kv_heads)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return x + self.attn(self.norm(x))


def example_inputs():
    return (torch.randn(2, 10, 48),)
