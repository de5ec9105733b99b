import torch
import torch.nn as nn


def make_src_mask(src, pad_idx):
    return (src != pad_idx).unsqueeze(1).unsqueeze(3)


class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = embed_size // heads
        self.queries = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.values = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, x, mask):
        N, T, E = x.shape
        q = self.queries(x).reshape(N, T, self.heads, self.head_dim)
        k = self.keys(x).reshape(N, T, self.heads, self.head_dim)
        v = self.values(x).reshape(N, T, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / (E ** (1 / 2)), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", attention, v).reshape(N, T, E)
        return self.fc_out(out)


class Model(nn.Module):
    def __init__(self, words=150, embed_size=24, heads=4, pad_idx=0):
        super().__init__()
        self.pad_idx = pad_idx
        self.embedding = nn.Embedding(words, embed_size)
        self.attention = SelfAttention(embed_size, heads)
        self.norm = nn.LayerNorm(embed_size)

    def forward(self, src):
        mask = make_src_mask(src, self.pad_idx)
        x = self.embedding(src)
        x = self.norm(x + self.attention(x, mask))
        return x[:, 0]


def example_inputs():
    src = torch.randint(1, 150, (3, 11))
    src[0, 6:] = 0
    src[2, 9:] = 0
    return (src,)
