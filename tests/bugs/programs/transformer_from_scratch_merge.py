import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split_heads(self, x):
        n, t, _ = x.size()
        return x.view(n, t, self.h, self.d_k).transpose(1, 2)

    def combine_heads(self, x):
        n, _, t, _ = x.size()
        return x.reshape(n, t, self.h * self.d_k)

    def forward(self, q, k, v):
        q = self.split_heads(self.W_q(q))
        k = self.split_heads(self.W_k(k))
        v = self.split_heads(self.W_v(v))
        scores = q.matmul(k.transpose(-2, -1)) / math.sqrt(self.d_k)
        out = scores.softmax(dim=-1).matmul(v)
        return self.W_o(self.combine_heads(out))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(70, 32)
        self.mha = MultiHeadAttention(32, 4)
        self.norm = nn.LayerNorm(32)

    def forward(self, ids):
        x = self.emb(ids)
        return self.norm(x + self.mha(x, x, x))


def example_inputs():
    return (torch.randint(0, 70, (2, 12)),)
