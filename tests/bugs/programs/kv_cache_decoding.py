import torch
import torch.nn.functional as F
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, dim=24, heads=3, max_len=16):
        super().__init__()
        self.h, self.d, self.max_len = heads, dim // heads, max_len
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)

    def empty(self, b, like):
        return like.new_zeros(2, b, self.h, self.max_len, self.d)

    def forward(self, x, cache, start):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        cache[0, :, :, start : start + t] = k
        cache[1, :, :, start : start + t] = v
        keys, values = cache[0, :, :, : start + t], cache[1, :, :, : start + t]
        y = F.scaled_dot_product_attention(q, keys, values, is_causal=t > 1)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


class Model(nn.Module):
    def __init__(self, vocab=33, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.attn = CachedAttention(dim)

    @torch.no_grad()
    def forward(self, prompt, n_new=5):
        cache = self.attn.empty(prompt.size(0), self.emb.weight)
        tokens, pos, new = prompt, 0, []
        for _ in range(n_new):
            x = self.attn(self.emb(tokens), cache, pos)
            pos += tokens.size(1)
            tokens = (x[:, -1:] @ self.emb.weight.t()).argmax(-1)
            new.append(tokens)
        return torch.cat(new, dim=1), cache[0]


def example_inputs():
    return (torch.randint(0, 33, (2, 7)),)
