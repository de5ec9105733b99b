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

    def forward(self, x, past=None):
        B, T, D = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        S = k.size(2)
        allowed = torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)
        att = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        att = att.masked_fill(~allowed, float("-inf")).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(B, T, D)
        return self.proj(y), (k, v)


class LM(nn.Module):
    def __init__(self, vocab=40, ctx=48, dim=32, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(ctx, dim)
        self.attn = nn.ModuleList(CausalSelfAttention(dim, heads) for _ in range(layers))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(),
                                               nn.Linear(4 * dim, dim)) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, past=None):
        start = 0 if past is None else past[0][0].size(2)
        positions = torch.arange(start, start + ids.size(1), device=ids.device)
        x = self.tok(ids) + self.pos(positions)
        present = []
        for i in range(len(self.attn)):
            a, kv = self.attn[i](self.norm[i](x), None if past is None else past[i])
            x = x + a
            x = x + self.mlp[i](x)
            present.append(kv)
        return self.head(x), present


@torch.no_grad()
def generate(model, prompt, n_new):
    model.eval()
    out, past, inp = prompt, None, prompt
    for _ in range(n_new):
        logits, past = model(inp, past)
        inp = logits[:, -1].argmax(-1, keepdim=True)
        out = torch.cat([out, inp], dim=1)
    return out


torch.manual_seed(0)
model = LM()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
steps = torch.arange(33).cumsum(0)
for step in range(250):
    batch = (torch.randint(0, 40, (32, 1)) + steps) % 40
    logits, _ = model(batch[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final loss", round(loss.item(), 4))
print(generate(model, steps[None, :5] % 40, 15)[0].tolist())
