import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).unbind(dim=2)
        att = torch.einsum("bihd,bjhd->bhij", q, k) * self.scale
        att = att.softmax(dim=-1)
        out = torch.einsum("bhij,bjhd->bihd", att, v)
        return self.proj(out.reshape(b, n, d))


class CopyModel(nn.Module):
    def __init__(self, vocab=20, dim=32, heads=4, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(length, dim))
        self.attn = MultiHeadSelfAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, t):
        h = self.tok(t) + self.pos
        h = self.norm(h + self.attn(h))
        return self.out(h)


model = CopyModel()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    src = torch.randint(0, 20, (64, 10))
    tgt = src.flip(1)
    loss = F.cross_entropy(model(src).flatten(0, 1), tgt.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}")
