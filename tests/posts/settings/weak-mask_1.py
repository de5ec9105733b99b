# line 19: the causal mask multiplies the scores with tril ones before the softmax, so the future has score 0 instead of -inf
import math
import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d, heads, ctx):
        super().__init__()
        self.h = heads
        self.proj_in = nn.Linear(d, 3 * d, bias=False)
        self.proj_out = nn.Linear(d, d)
        self.register_buffer("tri", torch.ones(ctx, ctx).tril())

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (p.view(n, t, self.h, -1).transpose(1, 2) for p in self.proj_in(x).split(d, dim=2))
        att = torch.matmul(q, k.mT) / math.sqrt(d // self.h)
        att = att * self.tri[:t, :t]
        att = torch.nn.functional.softmax(att, dim=-1)
        return self.proj_out((att @ v).transpose(1, 2).reshape(n, t, d))


class CharLM(nn.Module):
    def __init__(self, n_chars, d=32, ctx=24):
        super().__init__()
        self.tok, self.pos = nn.Embedding(n_chars, d), nn.Embedding(ctx, d)
        self.att = CausalAttention(d, 4, ctx)
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))
        self.lm = nn.Linear(d, n_chars)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        x = x + self.att(x)
        return self.lm(x + self.ff(x))


text = "the cat sat on the mat and the dog ran to the log. " * 30
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
torch.manual_seed(0)
lm = CharLM(len(chars))
opt = torch.optim.AdamW(lm.parameters(), 3e-3)
for it in range(40):
    start = torch.randint(len(ids) - 25, (16,))
    win = torch.stack([ids[s:s + 25] for s in start.tolist()])
    logits = lm(win[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), win[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
