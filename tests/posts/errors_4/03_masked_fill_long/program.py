import math
import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dk = heads, dim // heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.dk).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dk)
        scores = scores.masked_fill(mask, float("-inf"))
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, d))


def padding_mask(lengths, max_len):
    pos = torch.arange(max_len)[None, :]
    return (pos >= lengths[:, None]).long()[:, None, None, :]


torch.manual_seed(1)
emb = nn.Embedding(100, 32, padding_idx=0)
attn = SelfAttention(32, 4)
lengths = torch.tensor([7, 5, 10, 3])
tokens = torch.randint(1, 100, (4, 10))
mask = padding_mask(lengths, tokens.size(1))
tokens = tokens.masked_fill(torch.arange(10)[None] >= lengths[:, None], 0)

out = attn(emb(tokens), mask)
pooled = out.mean(dim=1)
print(pooled.shape, pooled.norm().item())
