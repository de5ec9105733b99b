import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.proj = nn.Linear(dim, dim)

    def split(self, x):
        B, T, C = x.shape
        return x.view(B, T, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        att = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=64, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.1)
        self.norm = nn.LayerNorm(dim)
        self.att = SelfAttention(dim, 4)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos
        x = x + self.att(self.norm(x))
        return self.head(x)


model = Tagger()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(600):
    src = torch.randint(0, 30, (64, 16))
    tgt = src.sort(dim=1).values
    logits = model(src)
    loss = F.cross_entropy(logits.reshape(-1, 30), tgt.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 199:
        print(step + 1, round(loss.item(), 4))
