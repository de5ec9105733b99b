"""Tiny GPT on chess-like move strings; optimizer set up as in the big repos."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2)
                   for t in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class MoveGPT(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, depth=2, ctx=48):
        super().__init__()
        self.ctx = ctx
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(ctx, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.ln_f = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        for b in self.blocks:
            x = b(x)
        return self.head(self.ln_f(x))

    def configure_optimizers(self, weight_decay, lr, betas):
        decay, no_decay = [], []
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                decay.append(p)
            if name.endswith("bias") or "ln" in name or "pos" in name:
                no_decay.append(p)
        groups = [
            {"params": decay, "weight_decay": weight_decay},
            {"params": no_decay, "weight_decay": 0.0},
        ]
        print(f"decay {sum(p.numel() for p in decay)}, no decay {sum(p.numel() for p in no_decay)}")
        return torch.optim.AdamW(groups, lr=lr, betas=betas)


def lr_at(it, warmup, total, peak, floor):
    if it < warmup:
        return peak * (it + 1) / warmup
    t = (it - warmup) / max(1, total - warmup)
    return floor + 0.5 * (peak - floor) * (1 + math.cos(math.pi * t))


moves = ["e2e4 ", "e7e5 ", "g1f3 ", "b8c6 ", "f1b5 ", "a7a6 ", "d2d4 ", "d7d5 "]
torch.manual_seed(1337)
order = torch.randint(0, len(moves), (2000,)).tolist()
text = "".join(moves[i] for i in order)
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])


def get_batch(bs, ctx):
    ix = torch.randint(0, len(data) - ctx - 1, (bs,)).tolist()
    x = torch.stack([data[i:i + ctx] for i in ix])
    y = torch.stack([data[i + 1:i + 1 + ctx] for i in ix])
    return x, y


model = MoveGPT(len(chars))
optimizer = model.configure_optimizers(weight_decay=0.1, lr=1e-3, betas=(0.9, 0.95))
max_iters = 60
for it in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = lr_at(it, 10, max_iters, 1e-3, 1e-4)
    x, y = get_batch(16, model.ctx)
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 20 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")
