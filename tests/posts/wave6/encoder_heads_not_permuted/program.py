import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, BOS, MAX_LEN = 20, 1, 10


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        assert hidden_dim % num_heads == 0
        self.num_heads = num_heads
        self.qkv_dim = hidden_dim // num_heads
        self.qkv_proj = nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.o_proj = nn.Linear(hidden_dim, hidden_dim, bias=False)

    def forward(self, x, future_mask=None):
        batch_size, sequence_length, hidden_dim = x.size()
        qkv = self.qkv_proj(x).reshape(batch_size, sequence_length, self.num_heads, 3 * self.qkv_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        values = self.scaled_dot_product(q, k, v, future_mask)
        values = values.reshape(batch_size, sequence_length, hidden_dim)
        return self.o_proj(values)

    def scaled_dot_product(self, q, k, v, future_mask):
        logits = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.qkv_dim)
        if future_mask is not None:
            logits = logits.masked_fill(~future_mask, float("-inf"))
        return torch.matmul(F.softmax(logits, dim=-1), v)


class Block(nn.Module):
    def __init__(self, hidden_dim, ff_dim, num_heads, dropout=0.1):
        super().__init__()
        self.self_mha = MultiHeadAttention(hidden_dim, num_heads)
        self.ff = nn.Sequential(nn.Linear(hidden_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, hidden_dim))
        self.norm1, self.norm2 = nn.LayerNorm(hidden_dim), nn.LayerNorm(hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, future_mask):
        x = self.norm1(x + self.dropout(self.self_mha(x, future_mask)))
        return self.norm2(x + self.dropout(self.ff(x)))


class Transformer(nn.Module):
    def __init__(self, hidden_dim=32, ff_dim=64, num_heads=4, num_layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, hidden_dim)
        self.position = nn.Parameter(0.1 * torch.randn(2 * MAX_LEN, hidden_dim))
        self.blocks = nn.ModuleList([Block(hidden_dim, ff_dim, num_heads) for _ in range(num_layers)])
        self.output = nn.Linear(hidden_dim, VOCAB)

    def forward(self, tokens):
        length = tokens.size(1)
        x = self.embed(tokens) + self.position[:length]
        future_mask = torch.tril(torch.ones(length, length)).bool()
        for block in self.blocks:
            x = block(x, future_mask)
        return self.output(x)


def copy_batch(batch_size=64):
    words = torch.randint(2, VOCAB, (batch_size, MAX_LEN - 1))
    bos = torch.full((batch_size, 1), BOS)
    return torch.cat([bos, words, bos, words], dim=1)


model = Transformer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    tokens = copy_batch()
    logits = model(tokens[:, :-1])[:, MAX_LEN:]
    target = tokens[:, MAX_LEN + 1:]
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print("step", step, "loss", loss.item())
