import math
import torch
import torch.nn as nn
import torch.nn.functional as F

# decoder-only model that learns to continue arithmetic progressions modulo VOCAB
VOCAB, T, D, H, LAYERS = 24, 20, 64, 4, 2
torch.manual_seed(1337)


def get_batch(n):
    start = torch.randint(0, VOCAB, (n, 1))
    step = torch.randint(1, 5, (n, 1))
    seq = (start + step * torch.arange(T + 1)) % VOCAB
    return seq[:, :-1], seq[:, 1:]


class CausalSelfAttention(nn.Module):
    def __init__(self, d, h, max_len, p=0.1):
        super().__init__()
        assert d % h == 0
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.attn_drop = nn.Dropout(p)
        self.register_buffer("mask", torch.triu(torch.ones(max_len, max_len)).bool())

    def forward(self, x):
        B, L, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, L, self.h, C // self.h).transpose(1, 2)
        k = k.view(B, L, self.h, C // self.h).transpose(1, 2)
        v = v.view(B, L, self.h, C // self.h).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(C // self.h)
        att = att.masked_fill(self.mask[:L, :L], float("-inf"))
        att = self.attn_drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).reshape(B, L, C)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self, d, h, max_len):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = CausalSelfAttention(d, h, max_len)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class TinyGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D)
        self.pos = nn.Embedding(T, D)
        self.blocks = nn.Sequential(*[Block(D, H, T) for _ in range(LAYERS)])
        self.ln = nn.LayerNorm(D)
        self.head = nn.Linear(D, VOCAB, bias=False)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        return self.head(self.ln(self.blocks(x)))


model = TinyGPT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
print("%.2fk parameters" % (sum(p.numel() for p in model.parameters()) / 1e3))

for it in range(151):
    model.train()
    x, y = get_batch(32)
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, VOCAB), y.reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if it % 50 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch(256)
            acc = (model(xv).argmax(-1) == yv)[:, 2:].float().mean()
        print(f"step {it}: loss {loss.item():.4f}, val accuracy {acc.item():.3f}")

model.eval()
seq = torch.tensor([[3, 6, 9, 12]])
with torch.no_grad():
    for _ in range(8):
        nxt = model(seq[:, -T:])[:, -1].argmax(-1, keepdim=True)
        seq = torch.cat([seq, nxt], 1)
print(seq.tolist())
