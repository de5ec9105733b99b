"""Llama of 7 billion parameters: one sequence, greedy.

Variants: `bfloat16` and `float32` generate 50 tokens after 5 and compute the whole
sequence each time; `cache` keeps keys and values of 8 positions, 6 tokens and 2 more.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

VARIANT = sys.argv[1]
DTYPE = torch.float32 if VARIANT == "float32" else torch.bfloat16
WIDTH, HEADS, LAYERS, WORDS, WIDE, LENGTH = 4096, 32, 32, 32000, 11008, 2048
PROMPT, TOKENS = (6, 2) if VARIANT == "cache" else (5, 50)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        mean = torch.mean(x * x, dim=-1, keepdim=True)
        return self.scale * (x * torch.rsqrt(mean + 1e-5))


def rotate(x, angles):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    cos, sin = angles[: x.shape[2]].unbind(-1)
    first, second = pairs.unbind(-1)
    rotated = torch.stack(
        (first * cos - second * sin, second * cos + first * sin), dim=-1
    )
    return rotated.flatten(3).type_as(x)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, WIDE, bias=False)
        self.up = nn.Linear(WIDTH, WIDE, bias=False)
        self.down = nn.Linear(WIDE, WIDTH, bias=False)
        if VARIANT == "cache":
            shape = 1, HEADS, 8, WIDTH // HEADS
            self.register_buffer("keys", torch.zeros(shape))
            self.register_buffer("values", torch.zeros(shape))

    def forward(self, x, angles, start):
        batch, length, _ = x.shape
        shape = batch, length, HEADS, WIDTH // HEADS
        q, k, v = self.qkv(self.norm1(x)).split(WIDTH, dim=2)
        q, k, v = (t.view(shape).transpose(1, 2) for t in (q, k, v))
        q, k = rotate(q, angles), rotate(k, angles)
        if VARIANT == "cache":
            self.keys[:, :, start : start + length] = k
            self.values[:, :, start : start + length] = v
            k, v = self.keys, self.values
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, WIDTH))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = Norm()
        self.register_buffer("angles", torch.zeros(LENGTH, WIDTH // HEADS // 2, 2))

    def forward(self, ids, start):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x, self.angles, start)
        return self.head(self.norm(x))


with torch.device("meta"):
    model = Llama().to(DTYPE)
model.to_empty(device="cuda")
model.eval()
ids = torch.zeros(1, PROMPT, dtype=torch.long, device="cuda")
with torch.no_grad():
    step, start = ids, 0
    for _ in range(TOKENS):
        logits = model(step, start)[:, -1]
        probabilities = F.softmax(logits, dim=-1)
        chosen = torch.multinomial(probabilities, num_samples=1)
        start = ids.shape[1]
        ids = torch.cat((ids, chosen), dim=1)
        step = chosen if VARIANT == "cache" else ids
