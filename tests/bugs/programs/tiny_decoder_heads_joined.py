import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Args:
    vocab: int = 60
    dim: int = 40
    n_heads: int = 5
    max_seq_len: int = 24


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.n_heads = args.n_heads
        self.wqkv = nn.Linear(args.dim, 3 * args.dim, bias=False)
        self.wo = nn.Linear(args.dim, args.dim, bias=False)
        keep = torch.ones(args.max_seq_len, args.max_seq_len).tril().bool()
        self.register_buffer("keep", keep)

    def forward(self, x):
        B, T, C = x.shape
        qkv = self.wqkv(x).view(B, T, 3, self.n_heads, C // self.n_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att = att.masked_fill(~self.keep[:T, :T], float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.reshape(B, T, C)
        return self.wo(y)


class Model(nn.Module):
    def __init__(self, args=Args()):
        super().__init__()
        self.tok_embeddings = nn.Embedding(args.vocab, args.dim)
        self.norm = nn.LayerNorm(args.dim)
        self.attention = Attention(args)
        self.output = nn.Linear(args.dim, args.vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        h = h + self.attention(self.norm(h))
        return self.output(h)


def example_inputs():
    return (torch.randint(0, 60, (3, 12)),)
