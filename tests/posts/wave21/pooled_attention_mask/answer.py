import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, SEQ_LEN, RATIO, TOPK, WINDOW = 16, 32, 4, 3, 4


class Indexer(nn.Module):
    """Picks, for every query, the pooled positions that it may look at."""

    def __init__(self, dim, topk):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.topk = topk

    def forward(self, x, pooled):
        S, P = x.size(1), pooled.size(1)
        score = self.q(x) @ pooled.transpose(1, 2) / math.sqrt(x.size(-1))
        ends = (torch.arange(P, device=x.device) + 1) * RATIO
        future = ends[None, :] > torch.arange(S, device=x.device)[:, None]
        score = score.masked_fill(future, float("-inf"))
        values, index = score.topk(self.topk, dim=-1)
        return index.masked_fill(values == float("-inf"), -1)


class SparseAttention(nn.Module):
    def __init__(self, dim, topk=TOPK, window=WINDOW):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.indexer = Indexer(dim, topk)
        self.window = window

    def pool(self, x):
        B, S, D = x.shape
        return x.view(B, S // RATIO, RATIO, D).mean(dim=2)

    def pooled_mask(self, x, pooled):
        B, S, P = x.size(0), x.size(1), pooled.size(1)
        topk = self.indexer(x, pooled)
        valid = topk != -1
        safe = topk.masked_fill(~valid, P)
        mask = torch.zeros(B, S, P + 1, dtype=torch.bool, device=x.device)
        mask.scatter_(-1, safe, valid)
        return mask[..., :P]

    def window_mask(self, S, device):
        i = torch.arange(S, device=device)
        distance = i[:, None] - i[None, :]
        return (distance >= 0) & (distance < self.window)

    def forward(self, x):
        B, S, D = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        pooled = self.pool(x)
        local = self.window_mask(S, x.device).expand(B, S, S)
        allowed = torch.cat([local, self.pooled_mask(x, pooled)], dim=-1)
        keys = torch.cat([k, self.pool(k)], dim=1)
        values = torch.cat([v, self.pool(v)], dim=1)
        score = q @ keys.transpose(1, 2) / math.sqrt(D)
        weights = score.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
        return self.out(weights @ values)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = SparseAttention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class TinyLM(nn.Module):
    def __init__(self, dim=48, layers=1):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(SEQ_LEN, dim)
        self.blocks = nn.Sequential(*[Block(dim) for _ in range(layers)])
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tokens):
        x = self.tok(tokens) + self.pos(torch.arange(tokens.size(1), device=tokens.device))
        return self.head(self.blocks(x))


def batch(n):
    """The first token of the text comes back later, everything else is noise."""
    text = torch.randint(2, VOCAB, (n, SEQ_LEN))
    text[:, 1:4] = 0
    where = torch.randint(8, 12, (n,))
    rows = torch.arange(n)
    text[rows, where] = 1
    text[rows, where + 1] = text[:, 0]
    return text, where


def main(steps=500):
    torch.manual_seed(0)
    model = TinyLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(1, steps + 1):
        text, where = batch(64)
        logits = model(text)
        rows = torch.arange(len(text))
        loss = F.cross_entropy(logits[rows, where], text[rows, where + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad():
                text, where = batch(256)
                rows = torch.arange(256)
                hit = model(text)[rows, where].argmax(-1) == text[rows, where + 1]
            print("step %d  loss %.4f  recall of the first token %.3f" % (step, loss.item(), hit.float().mean()))


if __name__ == "__main__":
    main()
