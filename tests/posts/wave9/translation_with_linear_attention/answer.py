import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    """attention with a kernel, linear in the length"""

    def __init__(self, dim, causal=False, heads=4):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, mask=None, context=None):
        b, n, d = x.shape
        context = x if context is None else context
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        q, k, v = (t.view(b, -1, self.heads, d // self.heads).transpose(1, 2) for t in (q, k, v))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        if mask is not None:
            global_mask = mask[:, None, :, None]
            v = v.masked_fill(~global_mask, 0.)
        if self.causal:
            kv = torch.einsum('bhnd,bhne->bhnde', k, v).cumsum(dim=2)
            out = torch.einsum('bhnd,bhnde->bhne', q, kv)
            z = 1 / torch.einsum('bhnd,bhnd->bhn', q, k.cumsum(dim=2))
        else:
            kv = torch.einsum('bhnd,bhne->bhde', k, v)
            out = torch.einsum('bhnd,bhde->bhne', q, kv)
            z = 1 / torch.einsum('bhnd,bhd->bhn', q, k.sum(dim=2))
        out = out * z.unsqueeze(-1)
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


class FeedForward(nn.Sequential):
    def __init__(self, dim, d_ff):
        super().__init__(nn.Linear(dim, d_ff), nn.ReLU(), nn.Linear(d_ff, dim))


class EncoderLayer(nn.Module):
    def __init__(self, dim, d_ff):
        super().__init__()
        self.attn, self.ff = SelfAttention(dim), FeedForward(dim, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, mask):
        x = self.norm1(x + self.attn(x, mask=mask))
        return self.norm2(x + self.ff(x))


class DecoderLayer(nn.Module):
    def __init__(self, dim, d_ff):
        super().__init__()
        self.self_attn = SelfAttention(dim, causal=True)
        self.cross_attn, self.ff = SelfAttention(dim), FeedForward(dim, d_ff)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.norm1(x + self.self_attn(x, mask=tgt_mask))
        x = self.norm2(x + self.cross_attn(x, mask=src_mask, context=memory))
        return self.norm3(x + self.ff(x))


class Transformer(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, dim=64, d_ff=128, layers=2, max_len=64, pad=0):
        super().__init__()
        self.pad = pad
        self.src_embed, self.tgt_embed = nn.Embedding(src_vocab, dim), nn.Embedding(tgt_vocab, dim)
        pos, div = torch.arange(max_len)[:, None], torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.) / dim))
        self.register_buffer('pe', torch.stack([torch.sin(pos * div), torch.cos(pos * div)], -1).flatten(1))
        self.encoder = nn.ModuleList([EncoderLayer(dim, d_ff) for _ in range(layers)])
        self.decoder = nn.ModuleList([DecoderLayer(dim, d_ff) for _ in range(layers)])
        self.generator = nn.Linear(dim, tgt_vocab)

    def forward(self, src, tgt):
        src_mask = src != self.pad
        n = tgt.size(1)
        tgt_mask = tgt != self.pad
        memory = self.src_embed(src) + self.pe[:src.size(1)]
        for layer in self.encoder:
            memory = layer(memory, src_mask)
        x = self.tgt_embed(tgt) + self.pe[:n]
        for layer in self.decoder:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.generator(x)


device = 'cuda' if torch.cuda.is_available() else 'cpu'
model = Transformer(300, 320).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, betas=(0.9, 0.98), eps=1e-9)
for step in range(5):
    src, tgt = torch.randint(1, 300, (16, 24), device=device), torch.randint(1, 320, (16, 21), device=device)
    src[8:, 18:] = 0
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
