"""GPT-2 small as a book builds it: 8 sequences of 1024 tokens, AdamW, a few steps.

The variants follow one another: `written-out` (float32, norms and GELU of tensors, a
mask of float32 in each layer), `mask` (made when it is needed), `bfloat16` (with fused
AdamW), `modules` (torch's LayerNorm and GELU), `flash` (scaled_dot_product_attention).
"""

import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

STAGES = ("written-out", "mask", "bfloat16", "modules", "flash")
STAGE = STAGES.index(sys.argv[1])
WIDTH, HEADS, LAYERS, LENGTH, WORDS, BATCH, RATE = 768, 12, 12, 1024, 50257, 8, 0.1


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.shift = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        normed = (x - mean) / torch.sqrt(var + 1e-5)
        return self.scale * normed + self.shift


class Gelu(nn.Module):
    def forward(self, x):
        inner = torch.sqrt(torch.tensor(2.0 / torch.pi)) * (
            x + 0.044715 * torch.pow(x, 3)
        )
        return 0.5 * x * (1 + torch.tanh(inner))


def make_norm():
    return nn.LayerNorm(WIDTH) if STAGE >= 3 else Norm()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(RATE)
        if STAGE == 0:
            mask = torch.triu(torch.ones(LENGTH, LENGTH), diagonal=1)
            self.register_buffer("mask", mask)

    def forward(self, x):
        batch, length, _ = x.shape
        keys, queries, values = self.key(x), self.query(x), self.value(x)
        shape = batch, length, HEADS, WIDTH // HEADS
        keys = keys.view(shape).transpose(1, 2)
        values = values.view(shape).transpose(1, 2)
        queries = queries.view(shape).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3)
        if STAGE == 0:
            mask = self.mask.bool()[:length, :length]
        else:
            ones = torch.ones(length, length, dtype=torch.bool, device=x.device)
            mask = torch.triu(ones, diagonal=1)
        scores.masked_fill_(mask, -torch.inf)
        weights = torch.softmax(scores / math.sqrt(WIDTH // HEADS), dim=-1)
        weights = self.dropout(weights)
        context = (weights @ values).transpose(1, 2)
        return self.out(context.reshape(batch, length, WIDTH))


class FlashAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        qkv = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4)
        rate = RATE if self.training else 0.0
        context = F.scaled_dot_product_attention(
            queries, keys, values, dropout_p=rate, is_causal=True
        )
        context = context.transpose(1, 2).contiguous().view(batch, length, WIDTH)
        return self.out(context)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = FlashAttention() if STAGE >= 4 else Attention()
        gelu = nn.GELU(approximate="tanh") if STAGE >= 3 else Gelu()
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), gelu, nn.Linear(4 * WIDTH, WIDTH)
        )
        self.norm1, self.norm2 = make_norm(), make_norm()
        self.dropout = nn.Dropout(RATE)

    def forward(self, x):
        shortcut = x
        x = self.norm1(x)
        x = self.attention(x)
        x = self.dropout(x)
        x = x + shortcut
        shortcut = x
        x = self.norm2(x)
        x = self.mlp(x)
        x = self.dropout(x)
        x = x + shortcut
        return x


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.dropout = nn.Dropout(RATE)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = make_norm()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, ids):
        tokens = self.tokens(ids)
        positions = self.positions(torch.arange(ids.shape[1], device=ids.device))
        x = tokens + positions
        x = self.dropout(x)
        x = self.blocks(x)
        x = self.norm(x)
        logits = self.head(x)
        return logits


def compute_loss(model, ids, targets):
    ids, targets = ids.to("cuda"), targets.to("cuda")
    logits = model(ids)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = GPT()
model.to("cuda")
if STAGE >= 2:
    model.to(torch.bfloat16)
optimizer = torch.optim.AdamW(
    model.parameters(), lr=5e-4, weight_decay=0.1, fused=True if STAGE >= 2 else None
)
model.train()
for step in range(3):
    ids = torch.randint(WORDS, (BATCH, LENGTH))
    optimizer.zero_grad()
    loss = compute_loss(model, ids, ids)
    loss.backward()
    optimizer.step()
    if step == 0:  # an evaluation after the first step, as there
        model.eval()
        with torch.no_grad():
            compute_loss(model, ids, ids).item()
        model.train()
