import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

PAD, BOS, EOS = 0, 1, 2
VOCAB = 24


class MultiHeadedAttention(nn.Module):
    def __init__(self, dim, heads, dropout=0.1):
        super().__init__()
        self.heads, self.dim_head = heads, dim // heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.dim_head).transpose(1, 2)

    def forward(self, key, value, query, mask=None):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        scores = q @ k.transpose(2, 3) / math.sqrt(self.dim_head)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1), -1e18)
        context = self.dropout(scores.softmax(-1)) @ v
        return self.out(context.transpose(1, 2).flatten(2))


def feed_forward(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4 * dim, dim))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.self_attn = MultiHeadedAttention(dim, heads)
        self.ff = feed_forward(dim)

    def forward(self, x, mask):
        h = self.norm(x)
        x = x + self.self_attn(h, h, h, mask=mask)
        return x + self.ff(x)


class DecoderLayer(nn.Module):
    MAX_SIZE = 100

    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.self_attn = MultiHeadedAttention(dim, heads)
        self.context_attn = MultiHeadedAttention(dim, heads)
        self.ff = feed_forward(dim)
        ones = torch.ones(1, self.MAX_SIZE, self.MAX_SIZE, dtype=torch.bool)
        self.register_buffer("mask", ones.triu(1))

    def forward(self, x, memory, src_pad_mask, tgt_pad_mask):
        size = tgt_pad_mask.size(-1)
        dec_mask = tgt_pad_mask | self.mask[:, :size, :size]
        h = self.norm1(x)
        x = x + self.self_attn(h, h, h, mask=dec_mask)
        x = x + self.context_attn(memory, memory, self.norm2(x), mask=src_pad_mask)
        return x + self.ff(x)


class Translator(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Embedding(DecoderLayer.MAX_SIZE, dim)
        self.encoder = nn.ModuleList([EncoderLayer(dim, heads) for _ in range(layers)])
        self.decoder = nn.ModuleList([DecoderLayer(dim, heads) for _ in range(layers)])
        self.generator = nn.Linear(dim, VOCAB)

    def embedded(self, tokens):
        return self.embed(tokens) + self.pos(torch.arange(tokens.size(1)))

    def forward(self, src, tgt):
        src_mask, tgt_mask = src.eq(PAD).unsqueeze(1), tgt.eq(PAD).unsqueeze(1)
        memory, x = self.embedded(src), self.embedded(tgt)
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        for layer in self.decoder:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.generator(x)


def make_pairs(n, seed):
    gen = torch.Generator().manual_seed(seed)
    src, tgt = torch.full((n, 8), PAD), torch.full((n, 10), PAD)
    for i in range(n):
        length = int(torch.randint(3, 9, (1,), generator=gen))
        words = torch.randint(3, VOCAB, (length,), generator=gen)
        src[i, :length] = words
        tgt[i, :length + 2] = torch.cat([torch.tensor([BOS]), words.flip(0), torch.tensor([EOS])])
    return TensorDataset(src, tgt)


@torch.no_grad()
def greedy_accuracy(model, loader):
    model.eval()
    hits = total = 0
    for src, tgt in loader:
        out = torch.full((len(src), 1), BOS)
        for _ in range(tgt.size(1) - 1):
            out = torch.cat([out, model(src, out)[:, -1].argmax(-1, keepdim=True)], dim=1)
        hits += ((out == tgt) & (tgt != PAD))[:, 1:].sum().item()
        total += (tgt[:, 1:] != PAD).sum().item()
    return hits / total


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(make_pairs(2048, 0), batch_size=64, shuffle=True)
    valid_loader = DataLoader(make_pairs(128, 1), batch_size=128)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(8):
        model.train()
        for src, tgt in train_loader:
            logits = model(src, tgt[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} train ppl {loss.exp().item():.2f} greedy accuracy {greedy_accuracy(model, valid_loader):.3f}")
