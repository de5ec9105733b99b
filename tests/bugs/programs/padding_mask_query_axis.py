import math

import torch
import torch.nn as nn

PAD = 0


def make_src_mask(src):
    mask = (src != PAD).unsqueeze(1).unsqueeze(3)
    return mask  # (N, 1, 1, src_len)


class Attention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.d = d_model // n_head
        self.qkv = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(3))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (
            proj(x).view(*x.shape[:2], self.n_head, self.d).transpose(1, 2)
            for proj in self.qkv
        )
        score = q @ k.transpose(2, 3) / math.sqrt(self.d)
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000.0)
        v = torch.softmax(score, dim=-1) @ v
        return self.out(v.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 24, padding_idx=PAD)
        self.attn = Attention(24, 3)

    def forward(self, src):
        return self.attn(self.emb(src), make_src_mask(src))


def example_inputs():
    src = torch.randint(1, 50, (3, 9))
    src[0, 6:] = PAD
    src[2, 3:] = PAD
    return (src,)
