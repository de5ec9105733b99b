import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
SRC_PAD = TRG_PAD = 1
SOS = 2


def nopeak_mask(size):
    np_mask = np.triu(np.ones((1, size, size)), k=1).astype('uint8')
    return (torch.from_numpy(np_mask) == 0).to(device)


def create_masks(src, trg):
    src_mask = (src != SRC_PAD).unsqueeze(-2)
    trg_mask = (trg != TRG_PAD).unsqueeze(-2)
    np_mask = nopeak_mask(trg.size(1))
    trg_mask = trg_mask & np_mask
    return src_mask, trg_mask


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h, self.dk = heads, d // heads
        self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))

    def forward(self, q, kv, mask):
        b = q.size(0)
        q = self.q(q).view(b, -1, self.h, self.dk).transpose(1, 2)
        k = self.k(kv).view(b, -1, self.h, self.dk).transpose(1, 2)
        v = self.v(kv).view(b, -1, self.h, self.dk).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dk)
        scores = scores.masked_fill(~mask.unsqueeze(1), -1e9)
        x = scores.softmax(-1) @ v
        return self.out(x.transpose(1, 2).reshape(b, -1, self.h * self.dk))


class Layer(nn.Module):
    def __init__(self, d, heads, cross):
        super().__init__()
        self.self_attn = Attention(d, heads)
        self.cross_attn = Attention(d, heads) if cross else None
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in range(3)])

    def forward(self, x, mask, memory=None, memory_mask=None):
        h = self.norms[0](x)
        x = x + self.self_attn(h, h, mask)
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.norms[1](x), memory, memory_mask)
        return x + self.ff(self.norms[2](x))


class Transformer(nn.Module):
    def __init__(self, vocab, d=32, heads=4, n=2, max_len=40):
        super().__init__()
        self.src_emb, self.trg_emb = nn.Embedding(vocab, d), nn.Embedding(vocab, d)
        self.pos = nn.Parameter(0.02 * torch.randn(max_len, d))
        self.enc = nn.ModuleList([Layer(d, heads, False) for _ in range(n)])
        self.dec = nn.ModuleList([Layer(d, heads, True) for _ in range(n)])
        self.out = nn.Linear(d, vocab)

    def forward(self, src, trg, src_mask, trg_mask):
        m = self.src_emb(src) + self.pos[:src.size(1)]
        for layer in self.enc:
            m = layer(m, src_mask)
        x = self.trg_emb(trg) + self.pos[:trg.size(1)]
        for layer in self.dec:
            x = layer(x, trg_mask, m, src_mask)
        return self.out(x)


def reverse_batches(n, vocab, size=32):
    for _ in range(n):
        length = int(torch.randint(4, 9, (1,)))
        src = torch.randint(3, vocab, (size, length))
        src[: size // 4, -2:] = SRC_PAD
        trg = torch.cat([torch.full((size, 1), SOS), src.flip(1)], dim=1)
        yield src, trg


def train_model(model, vocab, steps=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    model.train()
    for i, (src, trg) in enumerate(reverse_batches(steps, vocab)):
        trg_input = trg[:, :-1]
        src_mask, trg_mask = create_masks(src.to(device), trg_input.to(device))
        preds = model(src.to(device), trg_input.to(device), src_mask.to(device), trg_mask.to(device))
        ys = trg[:, 1:].contiguous().view(-1).to(device)
        loss = F.cross_entropy(preds.view(-1, preds.size(-1)), ys, ignore_index=TRG_PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 20 == 0:
            print('step', i, 'loss %.3f' % loss.item())


if __name__ == '__main__':
    torch.manual_seed(0)
    train_model(Transformer(vocab=24).to(device), vocab=24)
