import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, dim, max_len):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len)))

    def forward(self, x):
        T = x.size(1)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        return self.out(scores.softmax(dim=-1) @ v)


class TinyLM(nn.Module):
    def __init__(self, vocab, dim=48, max_len=8):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.attn = nn.ModuleList([CausalAttention(dim, max_len) for _ in range(2)])
        self.norm = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 128), nn.GELU(), nn.Linear(128, vocab))

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for norm, attn in zip(self.norm, self.attn):
            x = x + attn(norm(x))
        return self.mlp(x)


vocab = 12
jumps = torch.multinomial(torch.tensor([0.4, 0.3, 0.2, 0.1]), 20000, replacement=True) + 1
data = jumps.cumsum(0) % vocab
lm = TinyLM(vocab)
opt = torch.optim.AdamW(lm.parameters(), lr=3e-3)
for step in range(1, 601):
    start = torch.randint(0, len(data) - 9, (64,))
    chunk = torch.stack([data[s:s + 9] for s in start])
    logits = lm(chunk[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, vocab), chunk[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0:
        print(f"step {step}: loss {loss.item():.3f} (entropy of the source 1.280)")
